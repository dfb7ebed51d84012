import CUnix

/// A pointer that each thread has for itself.
package enum ThreadSlot {
    package static var value: UnsafeMutableRawPointer? {
        @export(interface) get { cunix_thread_slot().pointee }
        @export(interface) set { cunix_thread_slot().pointee = newValue }
    }
}
