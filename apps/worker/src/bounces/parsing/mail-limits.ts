/** Far above any bounce: a returned newsletter of 512 KiB has 7,000 lines. */
const maxLines = 20_000
const maxHeaderLines = 1_000
/** Lines that may begin a part. */
const maxBoundaries = 500

export const maxMessageBytes = 512 * 1024
/** How many return paths one mail may be to. */
export const maxRecipients = 10

const [lineFeed, carriageReturn, hyphen] = [0x0a, 0x0d, 0x2d]

/** Whether a mail has more lines, header lines or parts than a bounce, so that parsing it could take seconds. */
export function isTooComplex(raw: Uint8Array): boolean {
  let [lines, headerLines, boundaries] = [0, 0, 0]
  let isHeader = true
  for (let start = 0; start < raw.length; ) {
    const found = raw.indexOf(lineFeed, start)
    const end = found < 0 ? raw.length : found
    isHeader &&= end > start + 1 || (end > start && raw[start] !== carriageReturn)
    lines += 1
    if (isHeader) headerLines += 1
    if (raw[start] === hyphen && raw[start + 1] === hyphen) boundaries += 1
    if (lines > maxLines || headerLines > maxHeaderLines || boundaries > maxBoundaries) return true
    start = end + 1
  }
  return false
}
