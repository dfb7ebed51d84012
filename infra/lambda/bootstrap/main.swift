// The `bootstrap` of an AWS Lambda function: takes one event after the other from the Runtime API and passes
// it to the program that is the function's handler.
//
//   in    AWS_LAMBDA_RUNTIME_API; _HANDLER, the name of a program beside this one, such as `front`
//   out   for each event: the last line that the program wrote, or an error if it failed or was too slow
//   else  exit 1 if the handler or the Runtime API is missing: Lambda starts another one

import Edge
import Turnstone
import Unix

ThisProcess.begin()
answerArguments(
    purpose: "Runs the program that _HANDLER names with one event of AWS Lambda after the other.")
do throws(Failure) {
    let runtime = try RuntimeAPI(ThisProcess.environment)
    let handler = try runtime.initialize { () throws(Failure) in
        try Handler(ThisProcess.environment)
    }
    while true {
        let invocation = try runtime.next()
        switch handler.run(invocation) {
        case .answer(let bytes): try runtime.answer(invocation, with: bytes)
        case .error(let error): try runtime.report(error, of: invocation)
        }
    }
} catch {
    Log().failure(error)
    ThisProcess.exit(1)
}
