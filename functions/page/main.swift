// GET /, /admin/, /reference/ and every file of infra/page, for a host without a web server of its own.
//
//   in    If-None-Match
//   out   200 the file, ETag; 304 the browser has it; 308 from /admin to /admin/
//   else  404 there is no such file

import Edge
import Turnstone

serve(
    Route("GET", "/") { (request) throws(Failure) in
        try PageFiles(request).answer(folder: nil, file: "")
    },
    Route("GET", "/{folder}/") { (request) throws(Failure) in
        try PageFiles(request).answer(folder: request[parameter: "folder"], file: "")
    },
    Route("GET", "/{file}") { (request) throws(Failure) in
        try PageFiles(request).answer(folder: nil, file: request[parameter: "file"])
    },
    Route("GET", "/{folder}/{file}") { (request) throws(Failure) in
        try PageFiles(request).answer(
            folder: request[parameter: "folder"], file: request[parameter: "file"])
    })
