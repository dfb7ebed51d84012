/// The element with an id.
export const the = id => document.getElementById(id)

/// Makes an element. Text is always text, never markup.
export function make(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties)
    element.append(...children)
    return element
}

/// Shows how something went, or what the problem is.
export function tell(status, problem = "") {
    the("status").textContent = status
    the("problem").textContent = problem
}

/// Runs a button's work, and shows the text it answers, or the words of `failed` for its error. Meanwhile further
/// presses do nothing; a button that is really disabled would lose the keyboard's focus.
export async function run(button, work, failed) {
    if (button.ariaDisabled === "true") return
    tell("")
    button.ariaDisabled = "true"
    try {
        tell(await work() ?? "")
    } catch (error) {
        tell("", failed(error))
    } finally {
        button.ariaDisabled = null
    }
}
