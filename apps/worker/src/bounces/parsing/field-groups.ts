/** Lower-case names to values. Of repeated fields, the first counts. */
export type Fields = ReadonlyMap<string, string>

export const maxGroups = 100
const maxFields = 1_000
/** A gateway that quotes a report indents its fields, which then look like the rest of the line before. */
const indented = /^[ \t]{1,20}(?=(?:original-recipient|final-recipient|action|status|diagnostic-code|remote-mta):)/gim

/** A second one of these begins the group of the next recipient. */
const firstOfGroup: ReadonlySet<string> = new Set(['original-recipient', 'final-recipient', 'action'])

/**
 * Parses groups of header fields, as in a delivery status or a feedback report. Empty lines separate the groups (RFC 3464),
 * but some servers write none, and some one after each field, so a block that repeats no field continues its group.
 */
export function parseFieldGroups(text: string): Fields[] {
  const unfolded = text
    .replace(/\r\n?/g, '\n')
    .replace(indented, '')
    .replace(/\n[ \t]+(?=\S)/g, ' ')
  const groups: Map<string, string>[] = []
  let isNew = true
  for (const [name, value, block] of listFields(unfolded)) {
    const last = groups.at(-1)
    if (block) isNew = last === undefined || block.some((other) => last.has(other))
    if (isNew || (firstOfGroup.has(name) && last?.has(name))) groups.push(new Map<string, string>())
    isNew = false
    const group = groups.at(-1)
    if (group && !group.has(name)) group.set(name, value)
  }
  return groups.slice(0, maxGroups)
}

/** The first field of a block comes with the names of all. */
function listFields(text: string): [name: string, value: string, block?: string[]][] {
  const blocks = text.split(/\n[ \t]*\n/).map((block) => block.split('\n').flatMap((line) => parseField(line) ?? []))
  const fields = blocks.flatMap((block) => {
    const names = block.map(({ name }) => name)
    return block.map(({ name, value }, at): [string, string, string[]?] =>
      at === 0 ? [name, value, names] : [name, value],
    )
  })
  return fields.slice(0, maxFields)
}

function parseField(line: string): { name: string; value: string } | undefined {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon).trim().toLowerCase()
  return colon > 0 && /^[\w-]{1,100}$/.test(name) ? { name, value: line.slice(colon + 1).trim() } : undefined
}
