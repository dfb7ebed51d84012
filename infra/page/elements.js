// What all parts of the pages use.

export const the = id => document.getElementById(id)

/// Removes the characters with which a foreign name could turn a text's direction.
export const plain = value => typeof value === "string" ? value.replace(/[\u202a-\u202e\u2066-\u2069]/g, "") : value

/// Makes an element. Text is always text, never markup.
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) element[key] = plain(value)
  element.append(...children.map(plain))
  return element
}

/// Makes a line of facts, each with its own direction of writing.
export const line = facts => make("span", {}, ...facts.flatMap(fact => [" · ", make("bdi", {}, fact)]).slice(1))

export function tell(status, problem = "") {
  the("status").textContent = status
  the("problem").textContent = problem
}

let words, waiting, owner, said, works = 0

/// Sets a page's words for an error and for a wait, and who its owner is.
export const putWords = (...own) => { [words, waiting, owner] = own }

/// Runs work, and says meanwhile that it waits.
export async function meanwhile(work) {
  const status = the("status")
  status.textContent = said = waiting()
  works += 1
  try {
    return await work()
  } finally {
    works -= 1
    if (works === 0 && status.textContent === said) status.textContent = ""
  }
}

/// Runs a button's work for the present owner, and shows its text or error, unless the owner has changed. Meanwhile
/// presses do nothing: a disabled button would lose the keyboard's focus.
export async function run(button, work) {
  if (button.ariaDisabled === "true") return
  tell("")
  button.ariaDisabled = "true"
  const own = owner()
  try {
    const done = await meanwhile(() => work(own))
    if (typeof done === "string" && own === owner()) the("status").textContent = done
  } catch (error) {
    if (own === owner()) tell("", words(error))
  } finally {
    button.ariaDisabled = null
  }
}

export const onClick = (id, work) => { the(id).onclick = event => run(event.target, work) }

export const onSubmit = (form, work) => {
  form.onsubmit = event => {
    event.preventDefault()
    run(event.submitter, work)
  }
}

export const button = (label, work, properties) =>
  make("button", {textContent: label, onclick: event => run(event.target, work), ...properties})

/// Makes a function that asks, and shows the answer or throws. If it was called again or cancelled meanwhile, it only
/// answers true.
export function latest(ask, show = () => {}) {
  let calls = 0
  const call = async (...values) => {
    const own = ++calls
    try {
      const answer = await ask(...values)
      if (own === calls) show(answer, ...values)
    } catch (failure) {
      if (own === calls) throw failure
    }
    return own !== calls
  }
  return Object.assign(call, {cancel: () => { calls += 1 }})
}
