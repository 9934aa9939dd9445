import type { Texts } from './list-texts.ts'

/** The hyphen of "e-mail" does not end a line: on a phone, titles and labels would often be broken after "e-". */
export function keepHyphens<Own extends Texts>(texts: Own): Own {
  const kept = Object.entries(texts).map(([name, text]) => [name, keep(text)])
  return Object.fromEntries(kept) as Own
}

function keep(text: Texts[string]): Texts[string] {
  if (typeof text === 'string') return keepHyphen(text)
  return typeof text === 'function' ? (...values) => keepHyphen(text(...values)) : keepHyphens(text)
}

const keepHyphen = (text: string) => text.replace(/(?<=\bE)-(?=Mail)/gi, '\u2011')
