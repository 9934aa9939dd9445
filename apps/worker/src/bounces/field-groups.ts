/** Lower-case names to values. Of repeated fields, the first counts. */
export type Fields = ReadonlyMap<string, string>

export const maxGroups = 100
const maxFields = 50

/** Parses groups of header fields, separated by empty lines, as in a delivery status or a feedback report. */
export function parseFieldGroups(text: string): Fields[] {
  const unfolded = text.replaceAll('\r\n', '\n').replace(/\n[ \t]+/g, ' ')
  return unfolded
    .split(/\n\s*\n/)
    .filter((group) => group.trim() !== '')
    .slice(0, maxGroups)
    .map(parseFields)
}

function parseFields(group: string): Fields {
  const fields = new Map<string, string>()
  for (const line of group.split('\n').slice(0, maxFields)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim().toLowerCase()
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}
