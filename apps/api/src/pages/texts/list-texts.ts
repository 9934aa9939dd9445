export interface Texts {
  [name: string]: Texts | string | ((...values: string[]) => string)
}

/** Lists every text with its path, for tests. The values that are put in are the markers `⟨1⟩`, `⟨2⟩` and `⟨3⟩`. */
export function listTexts(texts: Texts, path = ''): [path: string, text: string][] {
  return Object.entries(texts).flatMap(([name, text]) => {
    if (typeof text === 'object') return listTexts(text, `${path}${name}.`)
    return [[path + name, typeof text === 'string' ? text : text('⟨1⟩', '⟨2⟩', '⟨3⟩')] as [string, string]]
  })
}
