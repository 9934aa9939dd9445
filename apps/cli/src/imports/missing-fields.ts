/** The custom fields that an export needs and the workspace does not have, found before a row is uploaded. */
import type { CustomFields } from '@rapport/core/custom-fields/custom-fields.ts'
import { customFieldKey } from '@rapport/core/custom-fields/custom-fields.schema.ts'
import { normalizeName } from '@rapport/core/imports/words/names.ts'
import { speaksOfConsentByName } from '@rapport/core/imports/columns/consent-columns.ts'
import { toNormalForm } from '@rapport/core/kernel/values/text.ts'
import { createColumnMatcher, findCustomField } from '@rapport/core/imports/columns/match-columns.ts'
import { type SourceName, sources } from '@rapport/core/imports/columns/sources.ts'
import { usageError } from '../command.ts'
import { formatCount } from '../terminal.ts'
import type { ExportFile } from './export-files.ts'
import { readSourceCells, readSourceHeader } from './source-rows.ts'
import type { Session } from './upload-file.ts'

interface Export {
  source: SourceName
  files: readonly ExportFile[]
  /** Headers that the caller maps. */
  columns: Readonly<Record<string, string | null>>
}

type FieldType = 'TEXT' | 'NUMBER' | 'BOOLEAN'
interface MissingField {
  name: string
  type: FieldType
}

/** Creates the missing fields, or throws an error that names all of them. */
export async function completeFields(
  session: Session,
  given: Export,
  { creates }: { creates: boolean },
): Promise<void> {
  const missing = await findMissingFields(session, given)
  if (missing.length === 0) return
  if (!creates)
    throw usageError(
      `no custom field for ${missing.map(({ name }) => `"${name}"`).join(', ')}: --create-fields creates them, --columns maps columns, --ignore-unknown leaves them out`,
    )
  for (const { name, type } of missing) {
    await session.api.rapport.customFields.create({ key: toKey(name), label: name, type })
    session.cli.terminal.log(`Created the custom field "${name}" (${type}).`)
  }
}

async function findMissingFields(session: Session, given: Export): Promise<MissingField[]> {
  const candidates = await findUnknownNames(session, given)
  if (candidates.size === 0) return []
  const fields = await readFields(session)
  const missing = [...candidates].filter(([name]) => findCustomField(name, fields) === undefined)
  return missing.map(([name, type]) => ({ name, type: type ?? 'TEXT' }))
}

/** The headers and attributes that no workspace knows without custom fields, with the type of their values. */
async function findUnknownNames(session: Session, { source, files, columns }: Export) {
  const mapped = new Set(Object.keys(columns).map(normalizeName))
  const { isKnown } = createColumnMatcher({ fields: new Map(), source: sources[source] })
  // The import asks what a column is that speaks of consent.
  const isUnknown = (name: string) =>
    name !== '' && !isKnown(name) && !mapped.has(normalizeName(name)) && !speaksOfConsentByName(name)
  const found = new Map<string, FieldType | undefined>()
  for (const file of files) {
    for (const name of (await readSourceHeader(source, file)).filter(isUnknown)) found.set(name, 'TEXT')
    if (source !== 'listmonk') continue
    for await (const [name, value] of readAttributes(session, file)) found.set(name, widen(found.get(name), value))
  }
  return found
}

/** Yields the attributes of all rows of a file of listmonk. */
async function* readAttributes({ cli }: Session, file: ExportFile): AsyncGenerator<[string, unknown]> {
  let read = 0
  for await (const { cells } of readSourceCells('listmonk', file)) {
    cli.stopping.throwIfAborted()
    yield* Object.entries(parseAttributes(cells.get('attributes') ?? cells.get('attribs') ?? ''))
    if (++read % 1_000 === 0) cli.terminal.showProgress(`Reading ${formatCount(read, 'row')} of the export`)
  }
}

async function readFields({ api, cli }: Session): Promise<CustomFields> {
  const fields = new Map<string, { label: string; type: 'TEXT'; options: string[] }>()
  for await (const { key, label } of api.rapport.customFields.list(
    { object: 'CONTACT', limit: 100 },
    { signal: cli.stopping },
  ))
    fields.set(key, { label, type: 'TEXT', options: [] })
  return fields
}

function parseAttributes(cell: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(cell)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {}
  } catch {
    return {}
  }
}

/** A field with values of several types is a text. */
function widen(type: FieldType | undefined, value: unknown): FieldType | undefined {
  if (value === null || value === '') return type
  const own = typeof value === 'number' ? 'NUMBER' : typeof value === 'boolean' ? 'BOOLEAN' : 'TEXT'
  return type === undefined || type === own ? own : 'TEXT'
}

/** `Shoe size (EU)` becomes `Shoe_size_EU`. The import finds the field by its label. */
function toKey(name: string): string {
  const key = toNormalForm(name, 'NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^[^A-Za-z]+|_+$/g, '')
    .slice(0, 50)
  return customFieldKey.test(key) ? key : `field_${name.length}_${Buffer.from(name).toString('hex').slice(0, 20)}`
}
