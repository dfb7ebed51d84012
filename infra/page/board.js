// A small board, drawn from the moves that /diagnostics gives.

import {text} from "./texts.js"

/// Two letters a point, as in SGF: a to z, then A to Z. A pass has dots.
const coordinate = letter => letter === "." ? -1 : letter.charCodeAt(0) - (letter < "a" ? 39 : 97)

/// The position after all moves: {points, last}; a point is 0, or 1 for black and 2 for white.
export function position({width, height, black = "", white = "", first = "black", free = 0, moves = ""}) {
  const points = new Uint8Array(width * height)
  const place = (pair, offset) => {
    const x = coordinate(pair[offset]), y = coordinate(pair[offset + 1])
    return x >= 0 && x < width && y >= 0 && y < height ? y * width + x : -1
  }
  /// Beyond the board, points are undefined.
  const near = point => [point % width > 0 ? point - 1 : -1, point % width < width - 1 ? point + 1 : -1, point - width, point + width]
  /// Takes a group off the board if it has no liberty.
  const capture = start => {
    const group = new Set([start])
    for (const point of group) {
      for (const one of near(point)) {
        if (points[one] === 0) return
        if (points[one] === points[start]) group.add(one)
      }
    }
    for (const point of group) points[point] = 0
  }
  for (const [setup, colour] of [[black, 1], [white, 2]]) {
    for (let offset = 0; offset + 1 < setup.length; offset += 2) points[place(setup, offset)] = colour
  }
  let last = -1
  for (let number = 0; number * 2 + 1 < moves.length; number += 1) {
    const turns = number - free
    const colour = turns < 0 ? 1 : (turns + (free > 0 || first === "white" ? 1 : 0)) % 2 + 1
    last = place(moves, number * 2)
    if (last < 0) continue
    points[last] = colour
    for (const one of near(last)) if (points[one] === 3 - colour) capture(one)
    capture(last)
  }
  return {points, last}
}

const draw = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}

/// An image with a text for screen readers.
export function board(game) {
  const {width, height} = game, {points, last} = position(game)
  const stones = colour => [...points.keys()].filter(point => points[point] === colour)
  // Each is a line of no length with round ends.
  const dots = list => list.map(point => `M${point % width + 1} ${Math.floor(point / width) + 1}h0`).join("")
  const each = (count, line) => [...Array(count).keys()].map(line).join("")
  const lines = each(width, x => `M${x + 1} 1V${height}`) + each(height, y => `M1 ${y + 1}H${width}`)
  const black = stones(1), white = stones(2)
  const image = draw("svg", {viewBox: `0.3 0.3 ${width + 0.4} ${height + 0.4}`, class: "board", role: "img",
    "aria-label": text("games.board", {moves: game.moves.length / 2, black: black.length, white: white.length})})
  for (const [name, d] of [["lines", lines], ["black", dots(black)], ["white", dots(white)], ["last", dots(last < 0 ? [] : [last])]]) {
    image.append(draw("path", {class: name, d}))
  }
  return image
}
