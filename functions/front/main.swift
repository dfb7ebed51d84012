// Passes a request on to the program of its path, so that one line of an inetd or one function of a FaaS
// runner serves every route.
//
//   in    any input that the programs accept
//   out   the program's answer: it replaces this process
//   else  404, 405 with Allow, and 400, 408, 431 if the request cannot be read as far as its path

import Edge

dispatch(routes)
