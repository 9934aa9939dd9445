/** Fills a workspace with sample records, by the functions that routes call. A worker has to be running. */
import { setTimeout as sleep } from 'node:timers/promises'
import { recordEngagement } from '@rapport/core/campaigns/engagement.ts'
import { createCampaign, readCampaignSummary } from '@rapport/core/campaigns/campaigns.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { writeCompanyBatch } from '@rapport/core/companies/write-company-batch.ts'
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { writeContactBatch } from '@rapport/core/contacts/batch/write-contact-batch.ts'
import { createCustomField } from '@rapport/core/custom-fields/custom-fields.ts'
import { createDeal } from '@rapport/core/deals/create-deal.ts'
import { DealInput } from '@rapport/core/deals/deals.schema.ts'
import { updateDeal } from '@rapport/core/deals/update-deal.ts'
import { createForm } from '@rapport/core/forms/forms.ts'
import { FormInput } from '@rapport/core/forms/forms.schema.ts'
import { queueImport, readImport, receiveImport } from '@rapport/core/imports/imports.ts'
import { ImportOptions } from '@rapport/core/imports/imports.schema.ts'
import type { CampaignId, CompanyId, FormId, ListId, WebhookId } from '@rapport/core/kernel/ids.ts'
import { createList } from '@rapport/core/lists/lists.ts'
import { ListInput } from '@rapport/core/lists/lists.schema.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import { listPipelines } from '@rapport/core/pipelines/pipelines.ts'
import { PipelineQuery } from '@rapport/core/pipelines/pipelines.schema.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { createSegment } from '@rapport/core/segments/segments.ts'
import { createNote } from '@rapport/core/notes/create-note.ts'
import { NoteInput } from '@rapport/core/notes/notes.schema.ts'
import { createTask, updateTask } from '@rapport/core/tasks/tasks.ts'
import { TaskInput } from '@rapport/core/tasks/tasks.schema.ts'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { readWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import { companies, importFile, people } from './people.ts'

/** What a worker does takes seconds. Longer means that there is none. */
const workerTimeoutMs = 120_000

/** Returns the id of the form. `log` is called with what is created next. */
export async function createDemo(ctx: Ctx, log: (records: string) => void): Promise<FormId> {
  // Only a person can grant tracking, so opens and clicks are recorded without.
  await updateWorkspace(ctx, { trackingWithoutConsent: 'PERSON', fromName: 'Rapport Demo' })
  log(`${companies.length} companies, ${people.length} contacts`)
  const contacts = await createPeople(ctx)
  log('2 lists, 3 segments, 1 form')
  const { news, readers } = await createLists(ctx, contacts)
  const formId = await createContactForm(ctx, news)
  await createSegments(ctx, news)
  log('1 webhook that fails, deals in each stage, 12 tasks, 12 notes')
  const webhookId = await createFailingWebhook(ctx)
  await createDeals(ctx, contacts)
  await createTasks(ctx, contacts.slice(0, 12))
  await createNotes(ctx, contacts.slice(0, 12))
  await waitForWorker('a delivery', async () => (await readWebhook(ctx, webhookId)).lastFailureAt !== null)
  log('1 import with errors')
  await runImport(ctx)
  for (const { openedByOneOf, ...newsletter } of newsletters) {
    log(`the newsletter "${newsletter.name}", which a worker sends`)
    const campaignId = await send(ctx, { ...newsletter, listId: news })
    const openers = readers.filter((_, index) => index % openedByOneOf === 0)
    await read(ctx, campaignId, openers)
  }
  return formId
}

async function createPeople(ctx: Ctx): Promise<Contact[]> {
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'team', 'business'] })
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const companyIds = await createCompanies(ctx)
  const contacts: Contact[] = []
  const given = people.map((person) => ({ ...person, companyId: companyIds.get(person.company ?? '') }))
  for (let start = 0; start < people.length; start += 100) {
    const batch = { contacts: given.slice(start, start + 100), onConflict: 'fail' as const }
    const { results } = await writeContactBatch(ctx, batch, (error) => {
      throw error
    })
    for (const result of results) {
      if (!('contact' in result)) throw new Error(`A contact of the demo was rejected: ${JSON.stringify(result)}`)
      contacts.push(result.contact)
    }
  }
  return contacts
}

/** Returns their ids by name. */
async function createCompanies(ctx: Ctx): Promise<Map<string, CompanyId>> {
  const { results } = await writeCompanyBatch(ctx, { companies, onConflict: 'fail' })
  return new Map(
    results.map((result) => {
      if (!('company' in result)) throw new Error(`A company of the demo was rejected: ${JSON.stringify(result)}`)
      return [result.company.name, result.company.id]
    }),
  )
}

/** Four of five are confirmed for the newsletter, and every tenth for the beta program. */
async function createLists(ctx: Ctx, contacts: readonly Contact[]) {
  const news = await createList(ctx, ListInput.parse({ name: 'Product news', description: 'What is new, each month.' }))
  const beta = await createList(ctx, ListInput.parse({ name: 'Beta program' }))
  const readers = contacts.filter((_, index) => index % 5 !== 4)
  for (const { id } of readers) await addSubscriber(ctx, news.id, { contactId: id, status: 'CONFIRMED' })
  for (const [index, { id }] of contacts.entries())
    if (index % 10 === 0) await addSubscriber(ctx, beta.id, { contactId: id, status: 'CONFIRMED' })
  return { news: news.id, readers }
}

async function createContactForm(ctx: Ctx, listId: ListId): Promise<FormId> {
  const fields = [
    { label: 'Your name', type: 'TEXT', mapsTo: 'firstName' },
    { label: 'Your email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { label: 'What is it about?', type: 'SELECT', options: ['A question', 'An order', 'Something else'] },
    { label: 'Message', type: 'TEXTAREA', required: true },
    { label: 'Send me product news by email', type: 'CONSENT' },
  ]
  const { id } = await createForm(ctx, FormInput.parse({ name: 'Contact us', fields, listId }))
  return id
}

async function createSegments(ctx: Ctx, list: ListId): Promise<void> {
  await createSegment(ctx, { name: 'Customers with 10 seats or more', filter: customers })
  await createSegment(ctx, { name: 'Readers who opened something', filter: { campaign: 'any', did: 'open' } })
  const isReader = { list, status: 'CONFIRMED' as const }
  await createSegment(ctx, {
    name: 'Readers with an open deal',
    filter: { all: [isReader, { deal: { status: 'OPEN' } }] },
  })
}
const customers = { all: [{ tags: { has: 'customer' } }, { field: 'customFieldValues.seats', gte: 10 }] }

/** Nothing listens there. Before the deals, so that there are events to deliver. */
async function createFailingWebhook(ctx: Ctx): Promise<WebhookId> {
  const { id } = await createWebhook(ctx, {
    url: 'http://127.0.0.2:4000/hooks',
    eventTypes: ['deal.created', 'deal.won'],
  })
  return id
}

/** Three deals for each stage, moved to it step by step. Those of the last stage are lost or won. */
async function createDeals(ctx: Ctx, contacts: readonly Contact[]): Promise<void> {
  const [pipeline] = (await listPipelines(ctx, PipelineQuery.parse({}))).data
  if (!pipeline) throw new Error('The workspace has no pipeline')
  const last = pipeline.stages.length - 1
  await createCustomField(ctx, { object: 'DEAL', key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const positions = pipeline.stages.flatMap((_, position) => [position, position, position])
  for (const [index, position] of positions.entries()) {
    const contact = contacts[index * 7]
    if (!contact) break
    const valueCents = 120_000 + index * 85_000
    const seats = 10 + index
    const name = `${contact.company ?? contact.lastName}: ${seats} seats`
    const expectedCloseOn = daysFromNow(7 * (index + 1))
    const customFieldValues = { seats }
    const deal = {
      pipelineId: pipeline.id,
      contactId: contact.id,
      companyId: contact.companyId,
      name,
      valueCents,
      expectedCloseOn,
      customFieldValues,
    }
    const { id } = await createDeal(ctx, DealInput.parse(deal))
    for (const { id: stageId } of pipeline.stages.slice(1, position + 1)) await updateDeal(ctx, id, { stageId })
    if (position === last)
      await updateDeal(ctx, id, index % 3 === 0 ? { status: 'LOST', lostReason: 'Price' } : { status: 'WON' })
  }
}

const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

async function createTasks(ctx: Ctx, contacts: readonly Contact[]): Promise<void> {
  for (const [index, { id, firstName }] of contacts.entries()) {
    const task = await createTask(ctx, id, TaskInput.parse({ title: `Call ${firstName}` }))
    if (index % 3 === 0) await updateTask(ctx, task.id, { status: 'DONE' })
  }
}

async function createNotes(ctx: Ctx, contacts: readonly Contact[]): Promise<void> {
  for (const [index, { id: contactId, firstName }] of contacts.entries()) {
    const kind = index % 2 === 0 ? 'CALL' : 'MEETING'
    await createNote(ctx, NoteInput.parse({ kind, contactId, body: `${firstName} asked about the next release.` }))
  }
}

async function runImport(ctx: Ctx): Promise<void> {
  const options = { format: 'csv' as const, ...ImportOptions.parse({}) }
  const id = await receiveImport(ctx, options, toChunks(importFile))
  await queueImport(ctx, id)
  await waitForWorker('the import', async () => (await readImport(ctx, id)).status === 'COMPLETED')
}

async function* toChunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

const newsletters = [
  { name: 'October news', subject: 'Segments are here, {{ contact.firstName }}', openedByOneOf: 2 },
  { name: 'November news', subject: 'What is new, {{ contact.firstName }}', openedByOneOf: 3 },
]
const html = `<h1>What is new</h1>
<p>Hello {{ contact.firstName }},</p>
<p>deals now show their history, and imports list every rejected row.
<a href="https://example.com/news">Read more</a></p>`

async function send(ctx: Ctx, input: { name: string; subject: string; listId: ListId }): Promise<CampaignId> {
  const { id } = await createCampaign(ctx, { ...input, html, trackOpens: true, trackClicks: true })
  await sendCampaign(ctx, id)
  await waitForWorker('the newsletter', async () => (await readCampaignSummary(ctx, id)).status === 'SENT')
  return id
}

/** Each reader opens the newsletter, and a third of them follow a link. */
async function read(ctx: Ctx, campaignId: CampaignId, readers: readonly Contact[]): Promise<void> {
  for (const [index, { id: contactId }] of readers.entries()) {
    await recordEngagement(ctx, { campaignId, contactId }, 'opened')
    if (index % 3 === 0) await recordEngagement(ctx, { campaignId, contactId }, 'clicked')
  }
}

async function waitForWorker(work: string, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + workerTimeoutMs
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error(`No worker finished ${work} within ${workerTimeoutMs / 1_000} seconds`)
    await sleep(100)
  }
}
