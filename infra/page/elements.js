// What all parts of the page use.

import {failureText} from "./texts.js"

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

/// Runs a button's work, and shows the text it answers, if any, or its error in words. Meanwhile further presses
/// do nothing; a button that is really disabled would lose the keyboard's focus.
export async function run(button, work) {
    if (button.ariaDisabled === "true") return
    tell("")
    button.ariaDisabled = "true"
    try {
        const done = await work()
        if (done !== undefined) tell(done)
    } catch (error) {
        tell("", failureText(error))
    } finally {
        button.ariaDisabled = null
    }
}

/// Runs work at each press of a button.
export const onClick = (id, work) => the(id).addEventListener("click", event => run(event.target, work))
