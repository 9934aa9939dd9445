import type { ExportSource } from './export-source.ts'

/**
 * The file of "Export contacts" or of `POST /v3/contacts/export`: semicolons, UTF-8, dates as DD-MM-YYYY. Only with
 * `exportSubscriptionStatus` it has the columns `_SUBSCRIBED` and `_BLOCKLISTED`, which list channels such as
 * `email_marketing`. The names of people have the headers of the language of the account.
 */
export const brevo: ExportSource = {
  columns: {
    'CONTACT ID': null,
    EMAIL: 'email',
    EXT_ID: 'externalId',
    FIRSTNAME: 'firstName',
    PRENOM: 'firstName',
    VORNAME: 'firstName',
    NOMBRE: 'firstName',
    LASTNAME: 'lastName',
    NOM: 'lastName',
    NACHNAME: 'lastName',
    APELLIDOS: 'lastName',
    SMS: 'phone',
    WHATSAPP: null,
    LANDLINE_NUMBER: null,
    'DOUBLE_OPT-IN': 'source.optedIn',
    OPT_IN: 'source.optedIn',
    CONTACT_TIMEZONE: null,
    JOB_TITLE: null,
    LINKEDIN: null,
    ADDED_TIME: null,
    MODIFIED_TIME: null,
    _listIds: null,
    _SUBSCRIBED: 'brevo.subscribed',
    _BLOCKLISTED: 'brevo.blocklisted',
  },
}
