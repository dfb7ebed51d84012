// Lets libFuzzer drive one parser: `PARSER=NAME fuzz [libFuzzer's options and folders]`.
//
// The name is no argument, as libFuzzer starts the program again by its own arguments when it merges.

import Unix

/// C: `LLVMFuzzerRunDriver`, libFuzzer's own main function.
@_silgen_name("LLVMFuzzerRunDriver")
func drive(
    _ count: UnsafeMutablePointer<Int32>,
    _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

func named(_ name: String?) -> Parser {
    if let parser = parsers.first(where: { $0.name == name })?.parser { return parser }
    let names = parsers.map(\.name).joined(separator: ", ")
    StandardStreams.writeErrors("fuzz: set PARSER to one of \(names)\n")
    ThisProcess.exit(2)
}

let parser = named(ThisProcess.environment.first { $0.name == "PARSER" }?.value)

var count = CommandLine.argc
var words = CommandLine.unsafeArgv
_ = drive(&count, &words) { start, count in
    let complaint = parser(Array(UnsafeBufferPointer(start: start, count: count)))
    if let complaint { fatalError(complaint) }
    return 0
}
