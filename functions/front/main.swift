// Stands before all other programs, so that one line of an inetd or one function of a FaaS runner serves
// every route.
//
//   in    whatever the program of the request's path takes
//   out   what that program answers: it takes this process over
//   else  404, 405 with Allow, and 400, 408, 431 for what cannot be read as far as its path

import Edge

dispatch(routes)
