import { z } from 'zod'
import { Phone } from '../kernel/values/phone.ts'
import { Locale } from '../kernel/values/locale.ts'
import { CreatedAt, Email, emptyToNull, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { CustomValues, CustomValuesChange } from '../custom-fields/custom-fields.schema.ts'
import { ExternalId } from '../kernel/values/external-id.ts'
import { Tags } from '../kernel/values/tags.ts'
import { type contacts, emailSubscribedStatuses } from '../db/schema/index.ts'

/** Columns that responses contain. A column missing from a schema below does not compile. */
type Shown = Exclude<keyof typeof contacts.$inferSelect, 'workspaceId' | 'searchText'>
/** Columns that requests cannot set. */
type Derived = 'id' | 'emailSubscribedStatus' | 'lastActivityAt' | 'createdAt' | 'updatedAt'
type Writable = Exclude<Shown, Derived>

export const Contact = z
  .object({
    id: RecordId('con'),
    email: z.string().describe('The email address, unique in the workspace, ignoring case.'),
    firstName: z.string().describe('The first name. Empty if unknown, never `null`.'),
    lastName: z.string().describe('The last name. Empty if unknown, never `null`.'),
    phone: z.string().nullable().describe('The phone number. `null` if unknown.'),
    company: z
      .string()
      .nullable()
      .describe(
        'The company, as a text. It does not follow the name of the company of `companyId`. `null` if unknown.',
      ),
    customFieldValues: CustomValues,
    tags: z.array(z.string()).describe('The tags, in the order in which they were added.'),
    emailSubscribedStatus: z
      .enum(emailSubscribedStatuses)
      .describe(
        'The first of `COMPLAINED`, `BOUNCED`, `SUBSCRIBED`, `PENDING` and `UNSUBSCRIBED` that is true for any list. Without a subscription, a suppression that was recorded while the contact had the address, or that its import found; otherwise `NONE`.',
      ),
    lastActivityAt: Timestamp.nullable().describe(
      'When the contact last submitted a form, a bounce or complaint was reported, or a subscription, deal, task or note of the contact last changed, other than by the removal of its assignee from the workspace. `null` if never.',
    ),
    source: z
      .string()
      .nullable()
      .describe('Where the contact comes from, such as `form:Contact us`. `null` if unknown.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
    externalId: z
      .string()
      .nullable()
      .describe('The key of the person in your own product, unique in the workspace. `null` for none.'),
    locale: z
      .string()
      .nullable()
      .describe(
        'The language of emails to the contact, as a language tag (BCP 47) such as `de-AT`. `null` if unknown.',
      ),
    companyId: RecordId('cpy')
      .nullable()
      .describe('The company that the contact belongs to. `null` for none. `company` is a text of its own.'),
  } satisfies Record<Shown, z.ZodType>)
  .meta({
    id: 'Contact',
    description: 'A contact in the workspace. `email` is unique, ignoring case, and so is `externalId`, byte for byte.',
    examples: [
      {
        id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        email: 'ada@example.com',
        firstName: 'Ada',
        lastName: 'Lovelace',
        phone: null,
        company: null,
        customFieldValues: {},
        tags: [],
        emailSubscribedStatus: 'NONE',
        lastActivityAt: null,
        source: null,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
        externalId: 'user_1815',
        locale: 'en-GB',
        companyId: null,
      },
    ],
  })
export type Contact = z.output<typeof Contact>

const contactExamples = Contact.meta()?.['examples'] as [Contact]
export const contactExample = contactExamples[0]

export const MergedContact = z.object({ ...Contact.shape, mergedContactId: RecordId('con') }).meta({
  id: 'MergedContact',
  description: 'The contact that remains after a merge. `mergedContactId` is the id of the deleted duplicate.',
  examples: [{ ...contactExample, mergedContactId: 'con_01kag7m3v9e8fs2t4w6x8y0z2c' }],
})

/** The `data` of `contact.deleted`: it does not name the person. */
export const DeletedContact = z.object({ id: RecordId('con') }).meta({
  id: 'DeletedContact',
  description: 'A contact that was deleted. Only its id remains.',
  examples: [{ id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b' }],
})

/** Fits `form:` and the longest form name. */
export const sourceLength = 205

const writable = {
  email: Email.describe('The email address, unique in the workspace, ignoring case.'),
  externalId: ExternalId.nullable().describe(
    'The key of the person in your own product, unique in the workspace, compared byte for byte. `null` for none.',
  ),
  firstName: SingleLine(200).describe('The first name. Empty for none; `null` is not allowed.'),
  lastName: SingleLine(200).describe('The last name. Empty for none; `null` is not allowed.'),
  phone: emptyToNull(Phone).describe('The phone number. `null` or empty for none.'),
  company: emptyToNull(SingleLine(200)).describe(
    'The company, as a text. `null` or empty for none. Without it, a contact that gets a `companyId` and has no text gets the name of that company.',
  ),
  customFieldValues: CustomValuesChange.describe(
    'Values by the key of the custom field. `null` removes a value. A contact can have at most 16 KiB of values, as JSON.',
  ),
  tags: Tags.describe('The tags. Duplicates are removed.'),
  source: emptyToNull(SingleLine(sourceLength)).describe('Where the contact comes from. `null` or empty for none.'),
  locale: emptyToNull(Locale).describe(
    'The language of emails to the contact, as a language tag (BCP 47) such as `de-AT`. `null` or empty for none.',
  ),
  companyId: Id('cpy').nullable().describe('The id of the company that the contact belongs to. `null` for none.'),
} satisfies Record<Writable, z.ZodType>

export const ContactChange = z
  .strictObject(writable)
  .partial()
  .meta({
    id: 'ContactUpdate',
    description: 'The fields of the contact to change. Omitted fields stay unchanged.',
    examples: [{ company: 'Analytical Engines', customFieldValues: { plan: 'pro' } }],
  })
export type ContactChange = z.output<typeof ContactChange>

/** A new contact needs `email`. An omitted property is empty in a new contact and unchanged in an existing one. */
export const ContactInput = z
  .strictObject({
    ...writable,
    email: writable.email.describe(
      'The email address, unique in the workspace, ignoring case. Required unless `externalId` is that of a contact.',
    ),
    externalId: writable.externalId.describe(
      'The key of the person in your own product. It is looked up before `email`. `null` for none: it does not clear the external id of a contact.',
    ),
  })
  .partial()
  .meta({
    id: 'ContactUpsert',
    description:
      'The fields of the contact to set. An omitted field is empty in a new contact and unchanged in an existing one.',
    examples: [{ email: 'ada@example.com', externalId: 'user_1815', firstName: 'Ada', lastName: 'Lovelace' }],
  })
export type ContactInput = z.output<typeof ContactInput>
export type NewContactInput = ContactInput & { email: string }

/**
 * Input of a new contact. Defaults are filled in, so that equivalent bodies have the same hash for `Idempotency-Key`.
 */
export const NewContact = z
  .strictObject({
    email: writable.email,
    externalId: writable.externalId.default(null),
    firstName: writable.firstName.default(''),
    lastName: writable.lastName.default(''),
    phone: writable.phone.default(null),
    /** No default: with `companyId`, a missing text is the name of the company. `null` is missing too, unlike in a PUT. */
    company: writable.company
      .transform((company) => company ?? undefined)
      .optional()
      .describe(
        'The company, as a text. If it is empty, `null` or omitted, a contact with a `companyId` gets the name of that company.',
      ),
    customFieldValues: writable.customFieldValues.default({}),
    tags: writable.tags.default([]),
    source: writable.source.default(null),
    locale: writable.locale.default(null),
    companyId: writable.companyId.default(null),
  } satisfies Record<Writable, z.ZodType>)
  .meta({
    id: 'ContactCreate',
    description: 'A new contact. Only `email` is required.',
    examples: [{ email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' }],
  })

export const TagsInput = z
  .strictObject({ tags: Tags.refine((tags) => tags.length > 0, 'must not be empty').describe('The tags to add.') })
  .meta({ id: 'ContactAddTagsRequest', description: 'The tags to add.', examples: [{ tags: ['customer'] }] })
export type TagsInput = z.output<typeof TagsInput>

export const MergeInput = z
  .strictObject({ contactId: Id('con').describe('The id of the duplicate, which is deleted.') })
  .meta({
    id: 'ContactMergeRequest',
    description: 'The duplicate to merge.',
    examples: [{ contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z2c' }],
  })
export type MergeInput = z.output<typeof MergeInput>
