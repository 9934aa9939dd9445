import type { ExportSource } from './export-source.ts'

/**
 * The files of an audience export: `subscribed_…csv`, `unsubscribed_…csv`, `cleaned_…csv` and `nonsubscribed_…csv`.
 * Commas, UTF-8, moments in UTC without a time zone. Only the name of a file and its last columns tell the status.
 */
export const mailchimp: ExportSource = {
  columns: {
    'Email Address': 'email',
    'First Name': 'firstName',
    'Last Name': 'lastName',
    'Phone Number': 'phone',
    Company: 'company',
    Address: null,
    Birthday: null,
    MEMBER_RATING: null,
    OPTIN_TIME: 'confirmedAt',
    OPTIN_IP: 'optInAddress',
    CONFIRM_TIME: 'confirmedAt',
    CONFIRM_IP: 'optInAddress',
    LATITUDE: null,
    LONGITUDE: null,
    GMTOFF: null,
    DSTOFF: null,
    TIMEZONE: null,
    CC: null,
    REGION: null,
    UNSUB_TIME: 'unsubscribedAt',
    UNSUB_CAMPAIGN_TITLE: null,
    UNSUB_CAMPAIGN_ID: null,
    UNSUB_REASON: 'mailchimp.reason',
    UNSUB_REASON_OTHER: null,
    CLEAN_TIME: 'unsubscribedAt',
    CLEAN_CAMPAIGN_TITLE: null,
    CLEAN_CAMPAIGN_ID: null,
    LAST_CHANGED: null,
    LEID: null,
    EUID: null,
    NOTES: null,
    SMS_MARKETING_STATUS: null,
    'SMS Phone Number': null,
    TAGS: 'tags',
  },
  statusByColumn: { UNSUB_TIME: 'UNSUBSCRIBED', UNSUB_REASON: 'UNSUBSCRIBED', CLEAN_TIME: 'BOUNCED' },
}
