/** A brace or percent sign, as it is or as editors and URL encoders write it. */
const brace = String.raw`(?:\{|%7b|&#0*123;?|&#x0*7b;?|&lcub;|&lbrace;)`
const percent = String.raw`(?:%25|%|&#0*37;?|&#x0*25;?|&percnt;)`
/** The start of an output or a tag, followed by what Liquid expects there. */
const delimiter = new RegExp(
  String.raw`${brace}(?:${brace}|${percent})-?(?:\s|%20|\+|&nbsp;|&#160;)*(?=[a-z_"'])`,
  'gi',
)

/** What other systems write for a variable, and delimiters of Liquid that an editor or a person has altered. */
const foreign = new RegExp(
  [
    String.raw`\*\|[a-z][\w:]*\|\*`,
    String.raw`%%[a-z_]\w*%%|%recipient[._]\w+%`,
    String.raw`<%[=-]?\s*[a-z_][\w.]*\s*-?%>`,
    String.raw`(?:\\\{\s*\\?\{|\{\s+\{|｛\s*｛|\$\{|\[\[)\s*(?:contact|campaign|list|workspace)\.\w+`,
  ].join('|'),
  'gi',
)

/**
 * Finds `%7B%7B` and `&#123;&#123;`: an editor has encoded the delimiters of Liquid, so every recipient would get the name
 * of the variable instead of its value. The same holds for `*|FNAME|*` and other tags that are no Liquid.
 */
export function* findEncodedDelimiters(source: string): Generator<string> {
  for (const { 0: found, index } of source.matchAll(delimiter)) {
    if (!/^\{[{%]/.test(found))
      yield `"${found.trim()}" is an encoded "{{" or "{%": write it unencoded at ${positionOf(source, index)}`
  }
  for (const { 0: found, index } of source.matchAll(foreign))
    yield `"${found}" is not Liquid: write a variable as {{ contact.firstName }} at ${positionOf(source, index)}`
}

/** Where an offset is: `line 2, column 5`. */
export function positionOf(source: string, index: number): string {
  const before = source.slice(0, index).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
