/** Files as other systems export them, and as people change them in a spreadsheet. */
import { createTestList } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport, runTestSuppressionImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { readSuppressions } from '../consent/consent-records.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const find = (name: string) => findContactByEmail(ctx, `${name}@example.com`)
const saidOf = async (name: string) =>
  (await readSuppressions(ctx, { email: `${name}@example.com` })).map(({ reason, saidAt }) => [reason, saidAt])
const isOn = (date: string) => timestampAt(date)

test.each([
  [
    'SendGrid bounces',
    'status,reason,email,created\n5.1.1,"550 5.1.1 no such user",a@example.com,1443651125\n',
    'BOUNCED',
    '2015-09-30T22:12:05Z',
  ],
  [
    'SendGrid blocks',
    'status,reason,email,created\n550,"550 mailbox not found",a@example.com,1443651125000\n',
    'BOUNCED',
    '2015-09-30T22:12:05Z',
  ],
  [
    'SendGrid invalid emails',
    'reason,email,created\nMail domain unknown: address not found,a@example.com,2014-12-06 08:34:48\n',
    'BOUNCED',
    '2014-12-06T08:34:48Z',
  ],
  [
    'Mailgun bounces',
    'address,code,error,created_at\na@example.com,550,"550 user unknown","Fri, 21 Oct 2011 11:02:55 GMT"\n',
    'BOUNCED',
    '2011-10-21T11:02:55Z',
  ],
  [
    'Mailgun unsubscribes',
    'address,tags,created_at\na@example.com,*,"Fri, 21 Oct 2011 13:02:55 +0200"\n',
    'MANUAL',
    '2011-10-21T11:02:55Z',
  ],
  [
    'Postmark',
    'EmailAddress,SuppressionReason,Origin,CreatedAt\na@example.com,ManualSuppression,Recipient,2020-01-02T03:04:05-05:00\n',
    'OPTED_OUT',
    '2020-01-02T08:04:05Z',
  ],
  [
    'Postmark by hand',
    'EmailAddress,SuppressionReason,Origin,CreatedAt\na@example.com,ManualSuppression,Customer,2020-01-02\n',
    'MANUAL',
    '2020-01-02T00:00:00Z',
  ],
  [
    'Postmark complaints',
    'EmailAddress,SuppressionReason,Origin,CreatedAt\na@example.com,SpamComplaint,Recipient,2020-01-02\n',
    'COMPLAINED',
    '2020-01-02T00:00:00Z',
  ],
  [
    'Brevo',
    'email;senderEmail;reason;blockedAt\na@example.com;x@example.org;contactFlaggedAsSpam;2020-01-02 03:04:05\n',
    'COMPLAINED',
    '2020-01-02T03:04:05Z',
  ],
  [
    'Ghost',
    'id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,deleted_at,labels,tiers\n1,a@example.com,A,,false,false,,2020-01-02T03:04:05.000Z,,,\n',
    'OPTED_OUT',
    '2020-01-02T03:04:05Z',
  ],
  ['Keila', 'Email,First name,Last name,Data,Status\na@example.com,A,B,{},unreachable\n', 'BOUNCED', undefined],
  [
    'HubSpot',
    'Record ID,First Name,Last Name,Email,Unsubscribed from all email\n1,A,B,a@example.com,true\n',
    'OPTED_OUT',
    undefined,
  ],
  [
    'Loops',
    'email,firstName,lastName,source,subscribed,userGroup,userId\na@example.com,A,B,API,false,,\n',
    'OPTED_OUT',
    undefined,
  ],
  ['a list with a sentence', 'email,reason\na@example.com,please do not mail me again\n', 'OPTED_OUT', undefined],
])('a file of %s suppresses with its reason and its moment', async (...[, file, reason, saidAt]) => {
  expect(await runTestSuppressionImport(ctx, file)).toMatchObject({ suppressed: 1, failed: 0 })
  const said = (await saidOf('a')).map(([is, at]) => [is, saidAt && at])
  expect(said).toEqual([[reason, saidAt && isOn(saidAt)]])
})

test('NDJSON of another system is known by the names of its columns', async () => {
  const row = {
    EmailAddress: 'a@example.com',
    SuppressionReason: 'HardBounce',
    Origin: 'Recipient',
    CreatedAt: '2020-01-02',
  }
  const other = { email: 'b@example.com', reason: 'abuse', created: 1443651125 }
  const file = [row, other].map((one) => `${JSON.stringify(one)}\n`)
  expect(await runTestSuppressionImport(ctx, file, { format: 'ndjson' })).toMatchObject({ suppressed: 2, errors: [] })
  expect([await saidOf('a'), await saidOf('b')]).toEqual([
    [['BOUNCED', isOn('2020-01-02')]],
    [['COMPLAINED', isOn('2015-09-30T22:12:05Z')]],
  ])
})

test.each(['n/a', '0000-00-00 00:00:00', '00/00/0000', '31/31/2020', 'last week', '2999-01-01'])(
  'an address is suppressed from now on with the date %s',
  async (date) => {
    const record = await runTestSuppressionImport(ctx, `email,reason,date\na@example.com,spam,${date},and,more\n`)
    expect(record).toMatchObject({ suppressed: 1, failed: 0 })
    expect(record.errors.map(({ message }) => message)).toEqual([
      'Row has 5 cells, but the header has 3: the others are left out',
      expect.stringMatching(/^saidAt: .*recorded as now$/),
    ])
    expect(await saidOf('a')).toMatchObject([['COMPLAINED', expect.any(String)]])
  },
)

test.each([
  ['active', 'SUBSCRIBED'],
  ['Unreachable', 'BOUNCED'],
  ['junk', 'COMPLAINED'],
  ['inactive', 'NONE'],
  ['do-not-contact', 'UNSUBSCRIBED'],
  ['cancelled', 'UNSUBSCRIBED'],
])('the status %s of other systems is %s', async (word, status) => {
  const list = await createTestList(ctx)
  await runTestImport(ctx, `Email,Status\na@example.com,${word}\n`, { listId: list.id })
  expect((await find('a'))?.emailSubscribedStatus).toBe(status)
})

test('mailchimp: a reason of leaving that names abuse is a complaint', async () => {
  const list = await createTestList(ctx)
  const file =
    '"Email Address",UNSUB_TIME,UNSUB_REASON\na@example.com,"2020-01-02 03:04:05","Abuse Complaint"\nb@example.com,,NORMAL\n'
  const record = await runTestImport(ctx, file, { listId: list.id, source: 'mailchimp', consent: 'none' })
  expect(record).toMatchObject({ optedOut: 1, suppressed: 1, confirmed: 0, failed: 0 })
  expect((await saidOf('a')).map(([reason]) => reason)).toEqual(['COMPLAINED'])
})

test('loops: an answer that is pending confirms no one, and false opts out', async () => {
  const list = await createTestList(ctx)
  const file =
    'email,firstName,source,subscribed,optInStatus,userId\na@example.com,A,Form,true,accepted,u1\nb@example.com,B,Form,true,pending,\nc@example.com,C,API,false,,\nd@example.com,D,API,true,,\n'
  const record = await runTestImport(ctx, file, { listId: list.id, source: 'loops' })
  expect(record).toMatchObject({ confirmed: 2, optedOut: 1, failed: 0 })
  expect(await find('a')).toMatchObject({ externalId: 'u1', source: 'Form', emailSubscribedStatus: 'SUBSCRIBED' })
})

test.each([
  ['{"Interests":"tags"}', 'Email Address,Interests,TAGS\na@example.com,"Sports, Music","""vip"""\n'],
  ['{"Groups":"tags","Labels":"tags"}', 'email,Groups,Labels\na@example.com,Sports;Music,vip\n'],
  ['{"Segment":"tags"}', 'email,Tags,Tag,Segment\na@example.com,Sports,Music,vip\n'],
])('columns that are mapped to tags by %s add up', async (columns, file) => {
  await runTestImport(ctx, file, { columns })
  expect((await find('a'))?.tags.toSorted()).toEqual(['Music', 'Sports', 'vip'])
})

test.each(['null', '[]', '{}', '', ' null ', '{"a": }', '"text"'])(
  'listmonk attributes %s cost no person',
  async (attributes) => {
    const cell = `"${attributes.replaceAll('"', '""')}"`
    const file = `uuid,email,name,attributes,status,created_at,updated_at\n1,a@example.com,Ada,${cell},enabled,x,x\n`
    const record = await runTestImport(ctx, file, { source: 'listmonk' })
    expect(record).toMatchObject({ created: 1, failed: 0 })
    const isUnreadable = attributes.includes('a') || attributes.includes('t')
    expect(record.errors).toHaveLength(isUnreadable ? 1 : 0)
  },
)

test.each(['0000-00-00 00:00:00', '00-00-0000', '0', 'NULL', '-'])('the moment %s is none', async (moment) => {
  const list = await createTestList(ctx)
  const file = `email,confirmedAt,unsubscribedAt\na@example.com,${moment},${moment}\n`
  expect(await runTestImport(ctx, file, { listId: list.id })).toMatchObject({ confirmed: 1, failed: 0, errors: [] })
})

test('cells that are padded with spaces are read', async () => {
  const file = 'email   ,  name , status\na@example.com        ,  Ada Lovelace    , enabled \n'
  await runTestImport(ctx, file)
  expect(await find('a')).toMatchObject({ firstName: 'Ada', lastName: 'Lovelace' })
})
