import { QuoteType, Tokenizer } from 'htmlparser2'

/** The value of the `href` of an `<a>` or `<area>`, and where it is in the HTML. */
export interface Link {
  start: number
  end: number
  isQuoted: boolean
}

/** Finds the links in HTML as a browser does: not in comments, scripts or styles; of repeated attributes, the first. */
export function findLinks(html: string): Link[] {
  const links: Link[] = []
  let isAnchor = false
  let isHref = false
  let value = { start: 0, end: 0 }
  const ignore = () => {}
  const tokenizer = new Tokenizer(
    // Positions are those of the source, so the references in it stay as they are.
    { decodeEntities: false },
    {
      onopentagname: (start, end) => void (isAnchor = /^(?:a|area)$/i.test(html.slice(start, end))),
      onattribname: (start, end) => void (isHref = isAnchor && html.slice(start, end).toLowerCase() === 'href'),
      onattribdata: (start, end) => void (value = { start, end }),
      onattribend: (quote) => {
        if (!isHref) return
        isAnchor = false
        if (quote !== QuoteType.NoValue) links.push({ ...value, isQuoted: quote !== QuoteType.Unquoted })
      },
      onattribentity: ignore,
      oncdata: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
      ontext: ignore,
      ontextentity: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return links
}
