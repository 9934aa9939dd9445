/** Sequences of consent, each as one line: see `tell-story.ts`. The guide prints them. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, onTestFinished, test } from 'vitest'
import { startTestApi } from '../testing.ts'
import { tellStory } from './tell-story.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

/** Each "no" that a link for A may withdraw. */
const noes = [
  'stop all',
  'leave A',
  'one-click A',
  'operator opts out A',
  'operator opts out all',
  'complain',
  'provider opts out',
  'file UNSUBSCRIBED A',
  'file UNSUBSCRIBED all',
  'suppress as OPTED_OUT',
]
const others = ['suppress as MANUAL', 'bounce', 'remove A']
/** Each "no" before each other; at the gate, before one. */
const pairs = noes.flatMap((first, at) =>
  noes.flatMap((second, index) => (isFullRun || index === (at + 3) % noes.length ? [{ first, second }] : [])),
)

/** The person is CONFIRMED on A and B at the start. */
const sequences = [
  'stop all · erase · ask A · link A · A is CONFIRMED · confirm B: 409',
  'remove A · ask A · remove A · link A: 400 · A is UNSUBSCRIBED',
  'leave A · ask A · remove A · link A: 400 · A is UNSUBSCRIBED',
  'leave A · ask A · leave B · link A · A is CONFIRMED · B is UNSUBSCRIBED',
  'leave A · ask A · file UNSUBSCRIBED A of 2020-01-01 · link A · A is CONFIRMED',
  'one-click A · from here · undo · undo · undo · A is CONFIRMED · events are confirmed',
  'from here · two clicks A · A is UNSUBSCRIBED · events are unsubscribed',
  'operator opts out A · move to b · operator undoes A: 409 · move to a · operator undoes A: 409 · A is UNSUBSCRIBED',
  'operator opts out all · ask B · link B · B is CONFIRMED · operator undoes all: 409 · A is UNSUBSCRIBED',
  'bounce · suppress as BOUNCED · from here · lift · A is CONFIRMED · B is CONFIRMED · events are confirmed, confirmed',
  'complain · ask A · link A · A is CONFIRMED · B is UNSUBSCRIBED',
  'bounce · leave A · move to b · as c · confirm A · as b · merge into c · lift at a · A is UNSUBSCRIBED',
  'as b · create · as a · merge into b · A is CONFIRMED',
  'as b · confirm A · remove A · as a · merge into b · A is UNSUBSCRIBED · B is CONFIRMED',
  'changes must be confirmed · bounce · move to b · A is PENDING · B is PENDING · mails to b are 2',
  'as b · file UNSUBSCRIBED A · file CONFIRMED A · A is UNSUBSCRIBED',
  'leave A · remove B · export as who left B · confirm B: 409',
  'as b · suppress as BOUNCED · ask A · A is none · lift · ask A · A is PENDING',
  'complain · ask A · link A · A is CONFIRMED · complain · A is COMPLAINED',
  'gets a mail of A · erase · confirm A · old link · A is UNSUBSCRIBED · A reaches 0',
  'gets a mail of A · delete list A · old link · B is UNSUBSCRIBED · confirm C: 409',
  ...noes.map((no) => `${no} · ask A · link A · A is CONFIRMED`),
  ...pairs.map(({ first, second }) => `${first} · ask A · ${second} · link A: 400`),
  ...[...noes, ...others].map((no) => `one-click A · ${no} · undo: 400`),
]

test.each(sequences)('%s', async (sequence) => {
  expect(await tellStory(api, workspace, sequence)).toBe('as told')
})

/** In an installation of their own: a lost key concerns everybody in it. */
const sequencesOfKeys = [
  'leave A · the key is lost · lost rows are 1 · confirm A: 409 · file CONFIRMED A · A is UNSUBSCRIBED · lost rows are 1 · ask A · link A · A is CONFIRMED · lost rows are 0',
  'as b · confirm A · complain · remove A · the key is lost · ask A · confirm A: 409 · file CONFIRMED A · A is COMPLAINED · link A · A is CONFIRMED',
  'complain · the key is lost · ask A · link A · lost rows are 0 · move to b · A is CONFIRMED · B is UNSUBSCRIBED',
  'bounce · the key is lost · ask A · link A · A is CONFIRMED · B is BOUNCED · confirm B: 409 · file CONFIRMED B · B is BOUNCED · confirm C · complain · A is COMPLAINED',
  'bounce · the key is lost · ask A · link A · remove B · A is CONFIRMED · B is UNSUBSCRIBED',
  'complain · the key is lost · confirm C: 409 · file CONFIRMED C · C is none · file PENDING C · C is none',
  'bounce · the key is lost · confirm C: 409 · lost rows are 2 · suppress as BOUNCED · lift · confirm C · A is CONFIRMED',
  'bounce · the key is lost · operator opts out all · operator undoes all · A is BOUNCED · B is BOUNCED',
  'as b · confirm A · bounce · the key is lost · leave A · confirm C: 409',
  'complain · the key is lost · delete list A · delete list B · confirm C: 409',
  'bounce · the key is lost · delete list A · delete list B · confirm C: 409 · lift · confirm C',
  'bounce · the key is lost · ask C · from here · delete list A · C is BOUNCED · events are unsubscribed',
  'operator opts out A · from here · the key is rotated · operator opts out A · rows are the same · operator undoes A · A is CONFIRMED',
]

test.each(sequencesOfKeys)('%s', async (sequence) => {
  const installation = await startTestApi()
  onTestFinished(() => installation.close())
  expect(await tellStory(installation, await installation.signUp(), sequence)).toBe('as told')
})
