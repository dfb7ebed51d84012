/// The element with an id.
export const the = id => document.getElementById(id)

/// Makes an element. Text is always text, never markup.
export function make(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties)
    element.append(...children)
    return element
}
