/** The files that other systems export, as they write them. */
import type { FileStatus } from '../../db/schema/imports.ts'
import type { StatusColumn } from '../words/status-columns.ts'

type TextColumn = 'email' | 'externalId' | 'name' | 'firstName' | 'lastName' | 'phone' | 'company' | 'tags' | 'source'
type ProofColumn = 'confirmedAt' | 'unsubscribedAt' | 'optInAddress'
type SourceColumn = TextColumn | ProofColumn | 'listmonk.attributes' | StatusColumn

export interface ExportSource {
  /**
   * The columns that every export of the system has, by their headers; null for one that is left out. Of several columns with a
   * moment or an address, the last one that is not empty counts; statuses add up. A custom field with the name of a column
   * that is left out takes its values.
   */
  columns: Readonly<Record<string, SourceColumn | null>>
  /** The status of all rows of a file that has the column. */
  statusByColumn?: Readonly<Record<string, FileStatus>>
}

/** Headers of a property, or of columns that are left out, stand as one text with commas. */
function toColumns(leftOut: string, headers: Partial<Record<SourceColumn, string>>): ExportSource['columns'] {
  const named = Object.entries(headers).flatMap(([column, names]) => names.split(', ').map((name) => [name, column]))
  const others = leftOut.split(', ').map((name) => [name, null])
  return Object.fromEntries([...named, ...others]) as ExportSource['columns']
}

export const sourceNames = ['listmonk', 'mailchimp', 'brevo', 'resend', 'loops'] as const
export type SourceName = (typeof sourceNames)[number]

export const sources: Readonly<Record<SourceName, ExportSource>> = {
  /**
   * `subscribers.csv` of "Export" or of `GET /api/subscribers/export`: commas, UTF-8, LF, moments as Go prints them. `status`
   * is that of the person: `enabled`, `disabled` or `blocklisted`. It does not say from which lists the person has
   * unsubscribed: a file with the filter "subscription status" does. A copy of the table `subscribers` has `attribs`.
   */
  listmonk: {
    columns: toColumns('uuid, created_at, updated_at', {
      email: 'email',
      name: 'name',
      'listmonk.attributes': 'attributes, attribs',
      status: 'status',
    }),
  },
  /**
   * The files of an audience export: `subscribed_…csv`, `unsubscribed_…csv`, `cleaned_…csv` and `nonsubscribed_…csv`.
   * Commas, UTF-8, moments in UTC without a time zone. Only the name of a file and its last columns tell the status.
   */
  mailchimp: {
    columns: toColumns(
      'Address, Birthday, MEMBER_RATING, LATITUDE, LONGITUDE, GMTOFF, DSTOFF, TIMEZONE, CC, REGION, UNSUB_CAMPAIGN_TITLE, UNSUB_CAMPAIGN_ID, UNSUB_REASON_OTHER, CLEAN_CAMPAIGN_TITLE, CLEAN_CAMPAIGN_ID, LAST_CHANGED, LEID, EUID, NOTES, SMS_MARKETING_STATUS, SMS Phone Number',
      {
        email: 'Email Address',
        firstName: 'First Name',
        lastName: 'Last Name',
        phone: 'Phone Number',
        company: 'Company',
        confirmedAt: 'OPTIN_TIME, CONFIRM_TIME',
        optInAddress: 'OPTIN_IP, CONFIRM_IP',
        unsubscribedAt: 'UNSUB_TIME, CLEAN_TIME',
        'mailchimp.reason': 'UNSUB_REASON',
        tags: 'TAGS',
      },
    ),
    statusByColumn: { UNSUB_TIME: 'UNSUBSCRIBED', UNSUB_REASON: 'UNSUBSCRIBED', CLEAN_TIME: 'BOUNCED' },
  },
  /**
   * The file of "Export contacts" or of `POST /v3/contacts/export`: semicolons, UTF-8, dates as DD-MM-YYYY. Only with
   * `exportSubscriptionStatus` it has the columns `_SUBSCRIBED` and `_BLOCKLISTED`, which list channels such as
   * `email_marketing`. The names of people have the headers of the language of the account.
   */
  brevo: {
    columns: toColumns(
      'CONTACT ID, WHATSAPP, LANDLINE_NUMBER, CONTACT_TIMEZONE, JOB_TITLE, LINKEDIN, ADDED_TIME, MODIFIED_TIME, _listIds',
      {
        email: 'EMAIL',
        externalId: 'EXT_ID',
        firstName: 'FIRSTNAME, PRENOM, VORNAME, NOMBRE',
        lastName: 'LASTNAME, NOM, NACHNAME, APELLIDOS',
        phone: 'SMS',
        'source.optedIn': 'DOUBLE_OPT-IN, OPT_IN',
        'brevo.subscribed': '_SUBSCRIBED',
        'brevo.blocklisted': '_BLOCKLISTED',
      },
    ),
  },
  /** The file of "Export" on the page Contacts: commas, UTF-8. `unsubscribed` concerns all broadcasts. */
  resend: {
    columns: toColumns('id, segments, topics, created_at', {
      email: 'email',
      firstName: 'first_name',
      lastName: 'last_name',
      'resend.unsubscribed': 'unsubscribed',
    }),
  },
  /**
   * The file of "Export" on the page Audience: commas, UTF-8, the names of the properties or their labels. `subscribed`
   * concerns all marketing emails. A column for each mailing list says true or false: map the one of the list to `status`.
   */
  loops: {
    columns: toColumns('id, notes, userGroup, createdAt, updatedAt', {
      email: 'email',
      firstName: 'firstName',
      lastName: 'lastName',
      source: 'source',
      'status.subscribed': 'subscribed',
      'source.optedIn': 'optInStatus, Double opt-in',
      externalId: 'userId',
    }),
  },
}
