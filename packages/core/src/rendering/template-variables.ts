/**
 * The variables of templates. This table is the source of the check when a template is saved, of
 * `GET /template-variables`, of the example contact of a preview, and of the table in `docs/guides/templates.md`.
 */
import type { CustomField } from '../custom-fields/custom-fields.schema.ts'

/** The type of a value in a template. A DATE is text such as `2026-11-21`; a LIST has texts. */
export const templateTypes = ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'LIST', 'ANY'] as const
export type TemplateType = (typeof templateTypes)[number]

export interface TemplateVariable {
  name: string
  type: TemplateType
  description: string
  /** The value in a preview for the example contact. For all but `contact.*`, a preview shows the real value. */
  exampleValue: string | number | boolean | string[]
}

/** The variables that every workspace has. */
export const templateVariables: readonly TemplateVariable[] = [
  {
    name: 'contact.id',
    type: 'TEXT',
    description: 'The id of the contact.',
    exampleValue: 'con_00000000000000000000000000',
  },
  {
    name: 'contact.email',
    type: 'TEXT',
    description: 'The email address that the email is sent to.',
    exampleValue: 'ada@example.com',
  },
  {
    name: 'contact.firstName',
    type: 'TEXT',
    description: 'The first name. Empty if it is unknown.',
    exampleValue: 'Ada',
  },
  {
    name: 'contact.lastName',
    type: 'TEXT',
    description: 'The last name. Empty if it is unknown.',
    exampleValue: 'Lovelace',
  },
  {
    name: 'contact.phone',
    type: 'TEXT',
    description: 'The phone number. Empty if it is unknown.',
    exampleValue: '+44 20 7946 0000',
  },
  {
    name: 'contact.company',
    type: 'TEXT',
    description: 'The company. Empty if it is unknown.',
    exampleValue: 'Analytical Engines',
  },
  {
    name: 'contact.locale',
    type: 'TEXT',
    description: 'The locale of the contact. Empty if it is unknown.',
    // A preview is in the language of the list or the workspace.
    exampleValue: '',
  },
  { name: 'contact.tags', type: 'LIST', description: 'The tags of the contact.', exampleValue: ['customer', 'vip'] },
  {
    name: 'campaign.id',
    type: 'TEXT',
    description: 'The id of the campaign.',
    exampleValue: 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b',
  },
  {
    name: 'campaign.name',
    type: 'TEXT',
    description: 'The name of the campaign, which recipients do not see otherwise.',
    exampleValue: 'November newsletter',
  },
  {
    name: 'campaign.subject',
    type: 'TEXT',
    description: 'The rendered subject. In `html` and `text` only.',
    exampleValue: 'What is new, Ada',
  },
  { name: 'list.id', type: 'TEXT', description: 'The id of the list.', exampleValue: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b' },
  { name: 'list.name', type: 'TEXT', description: 'The name of the list.', exampleValue: 'Monthly news' },
  {
    name: 'workspace.name',
    type: 'TEXT',
    description: 'The name of the workspace.',
    exampleValue: 'Analytical Engines',
  },
  {
    name: 'workspace.postalAddress',
    type: 'TEXT',
    description: 'The postal address of the workspace. Empty if it is not set.',
    exampleValue: '12 Dorset Street, London',
  },
  {
    name: 'unsubscribeUrl',
    type: 'TEXT',
    description: 'The unsubscribe link of the recipient. A part of the email without it gets a footer with the link.',
    exampleValue: 'https://crm.example.com/public/unsubscribe?token=…',
  },
  {
    name: 'preferencesUrl',
    type: 'TEXT',
    description:
      'The link to the preferences page of the recipient: all lists, and "Unsubscribe from all newsletters".',
    exampleValue: 'https://crm.example.com/public/preferences?token=…',
  },
  {
    name: 'webVersionUrl',
    type: 'TEXT',
    description:
      'The link to the email as a page, until 90 days after the last email: the same for all recipients, without what is of a person. Empty with `webVersion: false`.',
    exampleValue: 'https://crm.example.com/public/campaigns/cmp_01kag7m3v9e8fs2t4w6x8y0z1b/web?token=…',
  },
  {
    name: 'locale',
    type: 'TEXT',
    description:
      'The locale of the email, such as `de-AT`: that of the contact, the list or the workspace, the first in one of the languages of Rapport, or else `en`.',
    exampleValue: 'en-GB',
  },
]

/** `campaign.subject` is the rendered subject, so the subject itself cannot use it. */
export const variableOutsideSubject = 'campaign.subject'

type FieldDefinition = Pick<CustomField, 'key' | 'label' | 'type' | 'options'>

/** The variables of the workspace's custom fields. */
export function toCustomVariables(fields: readonly FieldDefinition[]): TemplateVariable[] {
  return fields.map(({ key, label, type, options }) => ({
    name: `contact.customFieldValues.${key}`,
    type: type === 'SELECT' ? 'TEXT' : type,
    description: `The custom field “${label}”. Empty if the contact has no value.`,
    exampleValue: {
      TEXT: `Example of ${label}`,
      NUMBER: 42,
      BOOLEAN: true,
      DATE: '2026-11-21',
      SELECT: options[0] ?? '',
    }[type],
  }))
}
