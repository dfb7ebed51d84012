// Shows openapi.json as a page: a list of routes, and a section for each. Sections are filled when they are
// opened, since the document is large.

/// Makes an element. Text is always text, never markup.
function make(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties)
    element.append(...children.flat())
    return element
}

/// Prose with `code` in it, and blank lines between paragraphs.
function prose(text = "") {
    return text.split(/\n\n+/).filter(Boolean).map(paragraph =>
        make("p", {}, paragraph.split("`").map((part, index) => index % 2 ? make("code", {}, part) : part)))
}

const answer = await fetch("../openapi.json")
const api = answer.ok ? await answer.json() : null

/// What a `$ref` leads to. A schema may lead back to itself, so callers count how deep they are.
const resolved = value => value?.$ref
    ? resolved(value.$ref.slice(2).split("/").reduce((place, name) => place[name.replaceAll("~1", "/")], api)) : value

/// `text, 1 to 255 characters, or null`
function kind(schema) {
    schema = resolved(schema) ?? {}
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    if (schema.enum) return schema.enum.map(one => JSON.stringify(one)).join(", ")
    const several = schema.oneOf ?? schema.anyOf
    if (several) return several.map(kind).join(", or ")
    const types = [schema.type ?? "any value"].flat()
    if (types.includes("array")) return `array of ${kind(schema.items)}`
    const limits = [
        ["minLength", "at least"], ["maxLength", "at most"], ["minimum", "from"], ["maximum", "to"], ["pattern", "matching"],
    ].filter(([name]) => schema[name] !== undefined).map(([name, words]) => `${words} ${schema[name]}`)
    return [types.join(" or "), ...limits].join(", ")
}

/// The members of an object, those of objects inside it with their path: `data[].id`.
function members(schema, path = "", depth = 0) {
    schema = resolved(schema) ?? {}
    if (depth > 5) return []
    const parts = [schema, ...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].map(resolved)
    return parts.flatMap(part => [
        ...(part.items ? members(part.items, `${path}[]`, depth + 1) : []),
        ...Object.entries(part.properties ?? {}).flatMap(([name, member]) => {
            const full = path ? `${path}.${name}` : name
            const isRequired = part.required?.includes(name)
            return [
                {name: full, isRequired, kind: kind(member), description: resolved(member)?.description ?? ""},
                ...members(member, full, depth + 1),
            ]
        }),
    ])
}

function table(heads, rows) {
    return make("div", {className: "wide"}, make("table", {},
        make("thead", {}, make("tr", {}, heads.map(head => make("th", {scope: "col"}, head)))),
        make("tbody", {}, rows.map(row => make("tr", {}, row.map((cell, index) =>
            make(index ? "td" : "th", index ? {} : {scope: "row"}, cell)))))))
}

const memberTable = schema => {
    const rows = members(schema).map(one =>
        [make("code", {}, one.name), one.kind + (one.isRequired ? ", required" : ""), prose(one.description)])
    return rows.length ? [table(["member", "kind", "meaning"], rows)] : []
}

const example = value => make("pre", {tabIndex: 0}, typeof value === "string" ? value : JSON.stringify(value, null, 2))

function examples(content) {
    const named = Object.entries(content?.examples ?? {}).map(([name, one]) => [name, resolved(one).value])
    return named.slice(0, 3).map(([name, value]) =>
        make("figure", {}, make("figcaption", {}, `Example: ${name}`), example(value)))
}

function fill(section, {method, path, operation}) {
    const callers = (operation.security ?? []).map(one => Object.keys(one).join(" and ")).join(", or ")
    section.append(...prose(operation.description), make("p", {}, callers ? `Caller: ${callers}` : "Caller: anyone"))
    const parameters = (operation.parameters ?? []).map(resolved)
    if (parameters.length) {
        section.append(make("h3", {}, "Parameters"), table(["name", "where", "kind", "meaning"], parameters.map(one =>
            [make("code", {}, one.name), one.in + (one.required ? ", required" : ""), kind(one.schema), prose(one.description)])))
    }
    for (const [type, content] of Object.entries(resolved(operation.requestBody)?.content ?? {})) {
        section.append(make("h3", {}, `Body: ${type}`), ...memberTable(content.schema), ...examples(content))
    }
    section.append(make("h3", {}, "Answers"))
    for (const [status, reference] of Object.entries(operation.responses)) {
        const one = resolved(reference)
        const content = Object.values(one.content ?? {})[0]
        section.append(make("details", {open: status < 300},
            make("summary", {}, make("strong", {}, status), " ", ...prose(one.description).flatMap(p => [...p.childNodes])),
            ...(content ? memberTable(content.schema) : []), ...examples(content)))
    }
    section.append(make("p", {}, make("code", {}, `${method} ${path}`)))
}

function show() {
    const operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods)
        .filter(([method]) => ["get", "put", "post", "patch", "delete"].includes(method))
        .map(([method, operation]) => ({method: method.toUpperCase(), path, operation})))
    document.querySelector("#description").replaceWith(...prose(api.info.description))
    const entries = operations.map(one => {
        const title = [make("strong", {}, one.method), " ", make("code", {}, one.path)]
        const details = make("details", {id: one.operation.operationId},
            make("summary", {}, make("h2", {}, ...title), make("span", {}, one.operation.summary)))
        details.addEventListener("toggle", () => fill(details, one), {once: true})
        document.querySelector("#content").append(details)
        const link = make("a", {href: `#${one.operation.operationId}`}, ...title.map(part => part.cloneNode?.(true) ?? part))
        link.addEventListener("click", () => { details.open = true })
        const item = make("li", {}, link)
        document.querySelector("#routes").append(item)
        const words = `${one.method} ${one.path} ${one.operation.summary} ${one.operation.description ?? ""}`.toLowerCase()
        return {item, details, words}
    })
    document.querySelector("#search").addEventListener("input", event => {
        const wanted = event.target.value.toLowerCase().split(/\s+/).filter(Boolean)
        for (const {item, details, words} of entries) {
            item.hidden = details.hidden = !wanted.every(word => words.includes(word))
        }
    })
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (target?.tagName === "DETAILS") {
        target.open = true
        target.scrollIntoView()
    }
}

if (api) show()
else document.querySelector("#description").textContent = `openapi.json could not be read (${answer.status}).`
