import { readContactFile } from '@rapport/testing/files/import-files.ts'
import { expect, test } from 'vitest'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import { createColumnMatcher } from './match-columns.ts'
import { type SourceName, sources } from './sources.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

const fields: CustomFields = new Map([
  ['city', { label: 'City', type: 'TEXT', options: [] }],
  ['good', { label: 'Good', type: 'BOOLEAN', options: [] }],
  ['visits', { label: 'Visits', type: 'NUMBER', options: [] }],
])

test('listmonk: attributes are custom fields, names are split, statuses are read', async () => {
  const file = [
    'uuid,email,name,attributes,status,created_at,updated_at',
    '0d3e3f52-1b2c-4c0e-9c1f-2b0a3c4d5e6f,ada@example.com,Ada King Lovelace,"{""city"": ""Bengaluru"", ""good"": true, ""visits"": 7}",enabled,2023-01-05 10:22:33.123456 +0000 +0000,2023-01-05 10:22:33.123456 +0530 IST',
    '0d3e3f52-1b2c-4c0e-9c1f-2b0a3c4d5e70,zoe@example.com,Zoë,{},blocklisted,2023-01-05 10:22:33 +0000 UTC,2023-01-05 10:22:33 +0000 UTC',
    '0d3e3f52-1b2c-4c0e-9c1f-2b0a3c4d5e71,kay@example.com,,"{""shoe"": 1}",disabled,,',
    '',
  ].join('\n')
  const city = { city: 'Bengaluru', good: true, visits: 7 }
  expect(await read('listmonk', file)).toEqual([
    {
      line: 2,
      contact: { email: 'ada@example.com', firstName: 'Ada', lastName: 'King Lovelace', customFieldValues: city },
      status: { statuses: ['CONFIRMED'] },
    },
    {
      line: 3,
      contact: { email: 'zoe@example.com', firstName: 'Zoë', customFieldValues: {} },
      status: { statuses: ['OPTED_OUT'] },
    },
    {
      line: 4,
      column: 'listmonk.attributes',
      message: 'no custom field for "shoe": create it, or send unknownColumns=ignore',
    },
  ])
  const [, , kay] = await read('listmonk', file, 'ignore')
  expect(kay).toMatchObject({ contact: { email: 'kay@example.com' }, status: { statuses: ['MANUAL'] } })
})

const mailchimpHeader = (last: string) =>
  `"Email Address","First Name","Last Name",Address,"Phone Number",Birthday,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,${last},LEID,EUID,NOTES,TAGS`

test('mailchimp: the last columns of a file tell its status', async () => {
  const person = (last: string) =>
    `ada@example.com,Ada,Lovelace,"1 Main St  London",,,2,"2016-04-18 13:51:14",,"2016-04-18 14:00:32",203.0.113.7,,,,,,,,${last},55331253,89501affba,,"""news"",""Q1, 2016"""`
  const ada = {
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: 'Lovelace',
    tags: ['news', 'Q1, 2016'],
    customFieldValues: {},
  }
  const proof = { confirmedAt: timestampAt('2016-04-18T14:00:32Z'), optInAddress: '203.0.113.7' }
  const at = timestampAt('2020-01-02T03:04:05Z')
  expect(await read('mailchimp', `${mailchimpHeader('LAST_CHANGED')}\n${person('"2016-04-18 14:00:32"')}`)).toEqual([
    { line: 2, contact: ada, status: { statuses: [], ...proof } },
  ])
  const unsubscribed = 'UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER'
  expect(
    await read('mailchimp', `${mailchimpHeader(unsubscribed)}\n${person('"2020-01-02 03:04:05",May,17,NO_SIGNUP,')}`),
  ).toEqual([
    { line: 2, contact: ada, status: { statuses: ['UNSUBSCRIBED', 'CONFIRMED'], ...proof, unsubscribedAt: at } },
  ])
  const cleaned = 'CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID'
  expect(await read('mailchimp', `${mailchimpHeader(cleaned)}\n${person('"2020-01-02 03:04:05",May,17')}`)).toEqual([
    { line: 2, contact: ada, status: { statuses: ['BOUNCED'], ...proof, unsubscribedAt: at } },
  ])
})

test('brevo: semicolons, and channels that are subscribed or blocklisted', async () => {
  const file = [
    'CONTACT ID;EMAIL;PRENOM;NOM;WHATSAPP;SMS;DOUBLE_OPT-IN;OPT_IN;LANDLINE_NUMBER;EXT_ID;CONTACT_TIMEZONE;JOB_TITLE;LINKEDIN;ADDED_TIME;MODIFIED_TIME;_listIds;_SUBSCRIBED;_BLOCKLISTED',
    '1;ada@example.com;Ada;Lovelace;;33612345678;Yes;;;user_1;;;;05-01-2023;06-01-2023;[2|3];[email_marketing|sms_marketing];',
    '2;zoe@example.com;;;;;;;;;;;;05-01-2023;06-01-2023;[2];sms_marketing;email_marketing',
    '3;kay@example.com;;;;;;;;;;;;05-01-2023;06-01-2023;;;',
  ].join('\r\n')
  expect(await read('brevo', `\ufeff${file}\r\n`)).toMatchObject([
    {
      contact: { externalId: 'user_1', firstName: 'Ada', lastName: 'Lovelace', phone: '33612345678' },
      status: { statuses: ['CONFIRMED', 'CONFIRMED', 'CONFIRMED', 'CONFIRMED'] },
    },
    { contact: { email: 'zoe@example.com' }, status: { statuses: expect.arrayContaining(['NONE', 'OPTED_OUT']) } },
    { contact: { email: 'kay@example.com' }, status: { statuses: expect.arrayContaining(['NONE', 'CONFIRMED']) } },
  ])
})

test('resend: unsubscribed people want no broadcast at all', async () => {
  const file =
    'id,created_at,first_name,last_name,email,unsubscribed\n1,2026-04-08 00:11:13.110779+00,Ada,Lovelace,ada@example.com,false\n2,,,,zoe@example.com,true\n3,,,,kay@example.com,perhaps\n'
  expect(await read('resend', file)).toMatchObject([
    { contact: { firstName: 'Ada', lastName: 'Lovelace' }, status: { statuses: ['CONFIRMED'] } },
    { contact: { email: 'zoe@example.com' }, status: { statuses: ['OPTED_OUT'] } },
    { column: 'resend.unsubscribed', message: 'must be yes or no, such as true or false' },
  ])
})

test('the caller maps columns first, and custom fields take what is left out', async () => {
  const address: CustomFields = new Map([['address', { label: 'Address', type: 'TEXT', options: [] }]])
  const columns = { UNSUB_TIME: null, Nick: 'firstName' }
  const names = ['Email Address', 'Address', 'UNSUB_TIME', 'nick']
  expect(createColumnMatcher({ fields: address, columns, source: sources.mailchimp }).match(names)).toEqual({
    columns: ['email', 'customFieldValues.address', null, 'firstName'],
  })
  const match = (given: Record<string, string | null>, header: string[]) => () =>
    createColumnMatcher({ fields, columns: given }).match(header)
  expect(match({ mail: 'emial' }, ['mail'])).toThrow(
    'must be a property, a custom field or null (did you mean "email"?)',
  )
  expect(match({ Mial: 'email' }, ['mail'])).toThrow('The file has no column "mial" (did you mean "mail"?)')
})

test('a column named like a custom field and a property must be told apart', () => {
  const status: CustomFields = new Map([['status', { label: 'Status', type: 'TEXT', options: [] }]])
  const match = (columns: Record<string, string>) =>
    createColumnMatcher({ fields: status, columns }).match(['email', 'Status'])
  expect(() => match({})).toThrow(
    'The column "Status" is the property status and a custom field. Name it customField.status',
  )
  expect(match({ Status: 'status' }).columns).toEqual(['email', 'status'])
  expect(match({ Status: 'customField.status' }).columns).toEqual(['email', 'customFieldValues.status'])
})

test('unknown columns are left out on request, also columns without a name', () => {
  const names = ['email', 'Favorite', '']
  expect(createColumnMatcher({ fields, unknownColumns: 'ignore' }).match(names)).toEqual({
    columns: ['email', null, null],
    ignoresUnknown: true,
    ignored: [
      { position: 1, name: 'Favorite' },
      { position: 2, name: '' },
    ],
  })
})

const read = (name: SourceName, file: string, unknownColumns: 'error' | 'ignore' = 'error') =>
  readContactFile(file, { fields, source: sources[name], unknownColumns })

test('two spellings of a header need the same target', () => {
  const matcher = (columns: Record<string, string | null>) => createColumnMatcher({ fields: new Map(), columns })
  expect(() => matcher({ 'Opt Out': 'status', opt_out: null })).toThrow('another spelling of a header')
  expect(matcher({ 'Opt Out': 'status', opt_out: 'status' }).match(['email', 'Opt out']).columns).toEqual([
    'email',
    'status.optedOut',
  ])
})
