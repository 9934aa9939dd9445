/** A brace or percent sign, as it is or as editors and URL encoders write it. */
const brace = String.raw`(?:\{|%7b|&#0*123;?|&#x0*7b;?|&lcub;|&lbrace;)`
const percent = String.raw`(?:%25|%|&#0*37;?|&#x0*25;?|&percnt;)`
/** The start of an output or a tag, followed by what Liquid expects there. */
const delimiter = new RegExp(
  String.raw`${brace}(?:${brace}|${percent})-?(?:\s|%20|\+|&nbsp;|&#160;)*(?=[a-z_"'])`,
  'gi',
)

/**
 * Finds `%7B%7B` and `&#123;&#123;`: an editor has encoded the delimiters of Liquid, so every recipient would get the name
 * of the variable instead of its value.
 */
export function* findEncodedDelimiters(source: string): Generator<string> {
  for (const { 0: found, index } of source.matchAll(delimiter)) {
    if (/^\{[{%]/.test(found)) continue
    const before = source.slice(0, index).split('\n')
    const column = (before.at(-1)?.length ?? 0) + 1
    yield `"${found.trim()}" is an encoded "{{" or "{%": write it unencoded at line ${before.length}, column ${column}`
  }
}
