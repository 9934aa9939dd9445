/**
 * How a stored contact and an input become one contact. Every write of a contact asks this file, so each rule is here
 * once:
 *
 * | policy   | used by                                    | values of the input      | tags     | above a limit       |
 * | -------- | ------------------------------------------ | ------------------------ | -------- | ------------------- |
 * | `update` | PATCH and PUT /contacts, batch             | win; an empty one clears | replaced | rejected            |
 * | `import` | imports with `onConflict=update`, new tags | win, unless empty        | added    | rejected            |
 * | `fill`   | forms and sign-ups of visitors             | fill what is empty       | added    | not added, no error |
 * | `merge`  | POST /contacts/{id}/merge: the duplicate   | fill what is empty       | added    | rejected            |
 * |          | is the input                               |                          |          |                     |
 *
 * "Values" are the text properties, `source`, `companyId` and the custom field values. A contact has at most 100 tags
 * and 16 KiB of custom field values. A new contact takes all values of its input, whatever the policy.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CustomValue, CustomValues } from '../custom-fields/custom-fields.ts'
import { exceedsCustomValueSize, mergeCustomValues, requireCustomValueSize } from '../custom-fields/custom-values.ts'
import { invalidField } from '../kernel/errors.ts'
import { newId, type WorkspaceId } from '../kernel/ids.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { textPropertyNames } from './contact-properties.ts'
import type { ContactRow } from './contact-record.ts'
import type { ContactChange, ContactInput } from './contacts.schema.ts'

export interface MergePolicy {
  /**
   * `replace`: the input wins, and an empty value clears. `set`: the input wins unless it is empty. `fill`: the input
   * sets what the contact does not have.
   */
  values: 'replace' | 'set' | 'fill'
  /** `source` says where a contact came from: input of a visitor does not change it. */
  keepsSource?: boolean
  tags: 'replace' | 'add'
  /** `omit`: without an error, which would reveal to a visitor that the contact is known. */
  aboveLimit: 'reject' | 'omit'
}

export const mergePolicies = {
  update: { values: 'replace', tags: 'replace', aboveLimit: 'reject' },
  import: { values: 'set', tags: 'add', aboveLimit: 'reject' },
  fill: { values: 'fill', keepsSource: true, tags: 'add', aboveLimit: 'omit' },
  merge: { values: 'fill', tags: 'add', aboveLimit: 'reject' },
} as const satisfies Record<string, MergePolicy>

/** An input, with the name of the company that its `companyId` names, if the transaction has locked the company. */
export type LinkedInput = ContactInput & { companyName?: string | undefined }

/** An input whose custom field values are checked against their definitions, and whose company exists. Null removes a value. */
export type CheckedInput = Omit<ContactChange, 'customFieldValues'> & {
  customFieldValues?: Record<string, CustomValue | null> | undefined
  companyName?: LinkedInput['companyName']
}

const maxTags = 100
const tooManyTags = `tags: a contact can have at most ${maxTags} tags`

/** Returns the contact after the input. Throws `validation_error` for what is above a limit. */
export function mergeContact(current: ContactRow, input: CheckedInput, policy: MergePolicy): ContactRow {
  const properties = mergeProperties(current, input, policy)
  return {
    ...current,
    ...properties,
    ...copyCompanyName(current, { input, properties, policy }),
    tags: mergeTags(current.tags, input.tags, policy),
    customFieldValues: mergeValues(current.customFieldValues, input.customFieldValues ?? {}, policy),
  }
}

/** Returns `next` with the time of the update, or `current` itself if nothing changed. */
export function withTimeOfUpdate(current: ContactRow, next: ContactRow): ContactRow {
  return isDeepStrictEqual(current, next) ? current : { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
}

/** Builds the row of a new contact. Throws `validation_error` for what is above a limit. */
export function newContact(workspaceId: WorkspaceId, input: CheckedInput & { email: string }): ContactRow {
  const now = timestampNow()
  const empty: ContactRow = {
    workspaceId,
    id: newId('con'),
    email: input.email,
    externalId: null,
    firstName: '',
    lastName: '',
    phone: null,
    company: null,
    companyId: null,
    customFieldValues: {},
    tags: [],
    emailSubscribedStatus: 'NONE',
    lastActivityAt: null,
    source: null,
    locale: null,
    createdAt: now,
    updatedAt: now,
  }
  return mergeContact(empty, input, mergePolicies.update)
}

type Properties = Pick<ContactRow, (typeof propertyNames)[number]>

const propertyNames = ['email', 'externalId', 'source', 'companyId', ...textPropertyNames] as const

function mergeProperties(current: ContactRow, input: CheckedInput, policy: MergePolicy): Partial<Properties> {
  const names = propertyNames.filter((name) => {
    if (input[name] === undefined || (name === 'source' && policy.keepsSource)) return false
    if (policy.values === 'replace') return true
    return policy.values === 'set' ? Boolean(input[name]) : !current[name]
  })
  return Object.fromEntries(names.map((name) => [name, input[name]]))
}

interface Merge {
  input: CheckedInput
  properties: Partial<Properties>
  policy: MergePolicy
}

/** A contact that gets a company, and neither has nor gets a text `company`, copies the name. Later names do not follow. */
function copyCompanyName(
  current: ContactRow,
  { input, properties, policy }: Merge,
): Pick<Partial<ContactRow>, 'company'> {
  const { companyId = current.companyId, company = current.company } = properties
  const isCleared = policy.values === 'replace' && input.company !== undefined
  if (companyId === current.companyId || company || isCleared || input.companyName === undefined) return {}
  return { company: input.companyName }
}

function mergeTags(current: string[], input: readonly string[] | undefined, policy: MergePolicy): string[] {
  if (input === undefined) return current
  const tags = [...new Set(policy.tags === 'add' ? [...current, ...input] : input)]
  if (tags.length > maxTags && policy.aboveLimit === 'reject') throw invalidField('tags', tooManyTags)
  return tags.slice(0, maxTags)
}

function mergeValues(
  current: CustomValues,
  input: Record<string, CustomValue | null>,
  { values, aboveLimit }: MergePolicy,
): CustomValues {
  const given = mergeCustomValues({}, input)
  // For known contacts too: otherwise the error would reveal that the contact is unknown.
  if (aboveLimit === 'omit') requireCustomValueSize(given)
  const merged = {
    replace: () => mergeCustomValues(current, input),
    set: () => mergeCustomValues(current, withoutEmpty(given)),
    fill: () => ({ ...current, ...given, ...withoutEmpty(current) }),
  }[values]()
  if (aboveLimit === 'omit' && exceedsCustomValueSize(merged)) return current
  requireCustomValueSize(merged)
  return merged
}

/** As with the text properties, an empty text is no value that another one would have to give way to. */
const withoutEmpty = (values: CustomValues): CustomValues =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
