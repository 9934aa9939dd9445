import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { emitEach } from '../events.ts'
import { newId, uuidOf } from '../ids.ts'
import { type Asked, writtenTogether } from '../written-together.ts'
import { alreadyExists } from './contact-address.ts'
import { toContact } from './contact-record.ts'
import { insertUnlessTaken, type NewContactRow, selectContactsByEmail } from './contact-statements.ts'
import type { Contact, ContactInput } from './contacts.schema.ts'
import { checkAgainst, type CustomFields, holdCustomFields, mergeCustomValues } from './custom-fields.ts'

/**
 * Creates a contact and tells `contact.created`. An address that the workspace has already is a conflict naming whose.
 * What one workspace asks for at the same time is written together.
 */
export const createContact = writtenTogether<ContactInput, Contact>(insertOrRefuse)

/** Creates a contact and tells so, in the caller's transaction. Undefined when the address is taken. */
export async function insertContact(ctx: Ctx, input: ContactInput): Promise<Contact | undefined> {
  const [answer] = await insertContacts(ctx, [{ ctx, input }])
  if (answer instanceof Error) throw answer
  return answer
}

async function insertOrRefuse(ctx: Ctx, asked: readonly Asked<ContactInput>[]): Promise<(Contact | AppError)[]> {
  const answers = await insertContacts(ctx, asked)
  const emails = asked.filter((_, at) => !answers[at]).map(({ input }) => input.email)
  if (emails.length === 0) return answers as (Contact | AppError)[]
  const owners = await selectContactsByEmail(ctx.db, { workspaceId: ctx.workspaceId, emails })
  const ownerOf = (email: string) => owners.find((owner) => owner.email.toLowerCase() === email.toLowerCase())
  return answers.map((answer, at) => answer ?? alreadyExists(ownerOf(asked[at]?.input.email ?? '')))
}

/** Each in its place: undefined when the address is taken. */
async function insertContacts(
  ctx: Ctx,
  asked: readonly Asked<ContactInput>[],
): Promise<(Contact | AppError | undefined)[]> {
  const keys = asked.flatMap(({ input }) => Object.keys(input.customFieldValues ?? {}))
  const fields = await holdCustomFields(ctx, [...new Set(keys)])
  const rows = asked.map(({ input }) => toRow(fields, input))
  const sound = rows.flatMap((row) => (row instanceof AppError ? [] : [{ ...row, id: uuidOf(row.id) }]))
  const { workspaceId } = ctx
  const inserted = await insertUnlessTaken(ctx.db, { workspaceId, rows: JSON.stringify(sound) })
  const contacts = new Map(inserted.map((row) => [row.id, toContact(row)]))
  const answers = rows.map((row) => (row instanceof AppError ? row : contacts.get(row.id)))
  const created = asked.flatMap(({ ctx: origin }, at) => {
    const data = answers[at]
    return data && !(data instanceof AppError) ? [{ data, origin }] : []
  })
  await emitEach(ctx, 'contact.created', created)
  return answers
}

function toRow(fields: CustomFields, input: ContactInput): NewContactRow | AppError {
  try {
    return {
      id: newId('con'),
      email: input.email,
      firstName: input.firstName ?? '',
      lastName: input.lastName ?? '',
      phone: input.phone ?? null,
      company: input.company ?? null,
      customFieldValues: mergeCustomValues({}, checkAgainst(fields, input.customFieldValues ?? {})),
      tags: input.tags ?? [],
      source: input.source ?? null,
    }
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
