/**
 * Campaigns in one run with what they are measured against: mails per second beside a bare nodemailer pool, two workers
 * beside one, `send` for a million beside a bare INSERT … SELECT, and a worker's memory for many recipients and for few.
 * `SMTP_SINK` names Postfix's smtp-sink; without it the sink is our own. `node apps/bench/src/campaigns.ts [speed|send|memory] …`;
 * ROUNDS, RECIPIENTS (of speed) and PEOPLE (of send) make it shorter.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inheritedEnvironment } from '@rapport/core/config.ts'
import { end, freePort, type House, median, openHouse, peakMemory, waitFor } from './house.ts'
import { newsletter } from './newsletter.ts'

const parts = process.argv.length > 2 ? process.argv.slice(2) : ['speed', 'send', 'memory']
const rounds = Number(inheritedEnvironment()['ROUNDS'] ?? 3)
const recipients = Number(inheritedEnvironment()['RECIPIENTS'] ?? 20_000)

const sink = await startSink()
const house = await openHouse({ backend: 'redis', smtpUrl: `smtp://127.0.0.1:${sink.port}` })
try {
  if (parts.includes('speed')) await measureSpeed(house)
  if (parts.includes('memory')) await measureMemory(house)
  if (parts.includes('send')) await measureSend(house)
} finally {
  await house.close()
  await end(sink.child)
}

async function measureSpeed(house: House) {
  console.log(`${newsletter.length} bytes of HTML to ${recipients.toLocaleString('en')} recipients, into ${sink.name}`)
  const listId = await house.fillList('reader', recipients)
  const ratios: { one: number; two: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const bare = await sendBare(recipients)
    const one = await sendCampaign(house, listId, 1)
    const two = await sendCampaign(house, listId, 2)
    ratios.push({ one: one / bare, two: two / one })
    const figures = [bare, one, two].map((mails) => Math.round(mails))
    console.log(`  bare pool ${figures[0]}/s, one worker ${figures[1]}/s, two workers ${figures[2]}/s`)
  }
  console.log(`  one worker : bare pool   ${median(ratios.map(({ one }) => one)).toFixed(2)}`)
  console.log(`  two workers : one        ${median(ratios.map(({ two }) => two)).toFixed(2)}`)
}

async function sendBare(count: number): Promise<number> {
  const child = fork(resolve(import.meta.dirname, 'bare-mailer.ts'), [String(sink.port), String(count)])
  const [tookMs] = (await once(child, 'message')) as [number]
  await once(child, 'exit')
  return (count / tookMs) * 1000
}

/** From `send` until the last outcome is recorded. Answers mails per second. */
async function sendCampaign(house: House, listId: string, workerCount: number): Promise<number> {
  const workers = Array.from({ length: workerCount }, () => house.startWorker())
  await sleep(2_000)
  const { id } = await create(house, listId)
  await house.call('POST', `/campaigns/${id}/send`)
  const { sent, tookMs } = await waitForEnd(house, id)
  await Promise.all(workers.map((worker) => end(worker)))
  return (sent / tookMs) * 1000
}

async function create(house: House, listId: string, html = newsletter): Promise<{ id: string }> {
  return house.call('POST', '/campaigns', { name: 'News', subject: 'News for {{ contact.firstName }}', html, listId })
}

interface Sent {
  sentAt: string
  completedAt: string | null
  status: string
  pauseReason: string | null
}

async function waitForEnd(house: House, id: string): Promise<{ sent: number; tookMs: number }> {
  const read = () => house.call<Sent>('GET', `/campaigns/${id}`)
  await waitFor(async () => {
    const { completedAt, status } = await read()
    return completedAt !== null || status === 'PAUSED'
  })
  const { sentAt, completedAt, pauseReason } = await read()
  if (pauseReason !== null) throw new Error(`The campaign was paused: ${pauseReason}`)
  const { sent } = await house.call<{ sent: number }>('GET', `/campaigns/${id}/stats`)
  return { sent, tookMs: Date.parse(completedAt ?? '') - Date.parse(sentAt) }
}

async function measureMemory(house: House) {
  const peaks: number[] = []
  for (const count of [2_000, 200_000]) {
    const listId = await house.fillList(`memory${count}`, count)
    const worker = house.startWorker()
    await sleep(2_000)
    const { id } = await create(house, listId)
    await house.call('POST', `/campaigns/${id}/send`)
    await waitForEnd(house, id)
    peaks.push(await peakMemory(worker))
    await end(worker)
    console.log(`peak memory of a worker at ${count.toLocaleString('en')} recipients: ${peaks.at(-1)} MB`)
  }
  console.log(`  ratio ${((peaks[1] ?? 0) / (peaks[0] ?? 1)).toFixed(2)}`)
}

/** No worker runs meanwhile. */
async function measureSend(house: House) {
  const people = Number(inheritedEnvironment()['PEOPLE'] ?? 1_000_000)
  const listId = await house.fillList('million', people)
  const [first] = (await house.call<{ data: { id: string }[] }>('GET', '/contacts?limit=1')).data
  const ratios: { time: number; p99: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    await house.client.query('checkpoint')
    const bareMs = await timed(() => insertBare(house, people))
    await house.client.query('drop table bare')
    await house.client.query('checkpoint')
    const { id } = await create(house, listId)
    const quiet = await p99WhileReading(house, first?.id ?? '', sleep(5_000))
    let sendMs = 0
    const sending = timed(() => house.call('POST', `/campaigns/${id}/send`)).then((ms) => (sendMs = ms))
    const busy = await p99WhileReading(house, first?.id ?? '', sending)
    ratios.push({ time: sendMs / bareMs, p99: busy / quiet })
    console.log(
      `  bare INSERT ${Math.round(bareMs)} ms, send ${Math.round(sendMs)} ms; p99 of others ${quiet.toFixed(1)} ms, meanwhile ${busy.toFixed(1)} ms`,
    )
    await house.call('POST', `/campaigns/${id}/cancel`)
    await house.client.query('delete from campaign_batches')
    await house.client.query('delete from outbox')
  }
  console.log(
    `send : bare INSERT … SELECT of as many narrow rows  ${median(ratios.map(({ time }) => time)).toFixed(2)}`,
  )
  console.log(`p99 of other requests meanwhile : quiet  ${median(ratios.map(({ p99 }) => p99)).toFixed(2)}`)
}

async function insertBare(house: House, people: number) {
  await house.client.query(
    'create table bare (campaign_id uuid not null, contact_id uuid not null, status text not null)',
  )
  await house.client.query(
    `insert into bare select $1::uuid, id, 'PENDING' from contacts where email like 'million-%' limit $2`,
    ['01890a5d-ac96-774b-bcce-b302099a8057', people],
  )
}

/** Half of them write. At a steady pace, whether or not the one before was answered. */
async function p99WhileReading(house: House, contactId: string, until: Promise<unknown>): Promise<number> {
  const times: number[] = []
  const asked: Promise<unknown>[] = []
  const over = new AbortController()
  void until.finally(() => over.abort())
  for (let n = 0; !over.signal.aborted || n < 100; n += 1) {
    const body = { company: `Company ${n}` }
    const asking = timed(() =>
      n % 2 ? house.call('GET', `/contacts/${contactId}`) : house.call('PATCH', `/contacts/${contactId}`, body),
    )
    asked.push(asking.then((ms) => times.push(ms)))
    await sleep(10)
  }
  await Promise.all([...asked, until])
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

async function startSink(): Promise<{ child: ChildProcess; port: number; name: string }> {
  const program = inheritedEnvironment()['SMTP_SINK']
  if (!program) {
    const child = fork(resolve(import.meta.dirname, 'sink.ts'))
    const [port] = (await once(child, 'message')) as [number]
    return { child, port, name: 'a sink of our own' }
  }
  const port = await freePort()
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(program, [...account, `127.0.0.1:${port}`, '1000'], { stdio: 'ignore' })
  await sleep(500)
  return { child, port, name: "Postfix's smtp-sink" }
}
