/** The text properties of a contact, as used by forms, imports and merges. */
import type { FormField } from '../db/schema/index.ts'
import type { ContactInput } from './contacts.schema.ts'

export type TextProperty = Exclude<
  keyof ContactInput,
  'email' | 'externalId' | 'companyId' | 'customFieldValues' | 'tags' | 'source'
>

interface Property {
  /** Form field types that can map to it. None: the page sets it. */
  fieldTypes: readonly FormField['type'][]
  /** HTML `autocomplete` value (WCAG 1.3.5). */
  autocomplete: string
  /** Other column names in an import file, in lower case and without separators. */
  columnNames: readonly string[]
}

export const textProperties: Readonly<Record<TextProperty, Property>> = {
  firstName: { fieldTypes: ['TEXT'], autocomplete: 'given-name', columnNames: ['givenname', 'forename'] },
  lastName: { fieldTypes: ['TEXT'], autocomplete: 'family-name', columnNames: ['surname', 'familyname'] },
  phone: { fieldTypes: ['PHONE'], autocomplete: 'tel', columnNames: ['phonenumber', 'telephone'] },
  company: {
    fieldTypes: ['TEXT'],
    autocomplete: 'organization',
    columnNames: ['organization', 'organisation'],
  },
  locale: { fieldTypes: [], autocomplete: 'language', columnNames: ['language', 'lang'] },
}

export const textPropertyNames = Object.keys(textProperties) as TextProperty[]

/** The properties that a form field can map to. */
export const mappedPropertyNames = textPropertyNames.filter((name) => textProperties[name].fieldTypes.length > 0)
