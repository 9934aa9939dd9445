import { readEmail } from '@rapport/core/emails/emails.ts'
import { EmailRecord } from '@rapport/core/emails/emails.schema.ts'
import { TemplateQuery, TemplateSummary } from '@rapport/core/emails/templates/templates.schema.ts'
import { listTemplates } from '@rapport/core/emails/templates/templates.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const { status, search } = TemplateQuery.shape
const templates = defineTool({
  name: 'list_templates',
  title: 'List templates',
  description: 'Returns the templates of emails to one person, newest first, without their bodies.',
  role: 'VIEWER',
  operations: ['templates.list'],
  annotations: reads,
  input: z.strictObject({ status, search, ...pageInput }),
  output: PageOf(TemplateSummary),
  run: (ctx, input) => listTemplates(ctx, { ...input, ...newestFirst }),
})

const email = defineTool({
  name: 'get_email',
  title: 'Retrieve an email',
  description: 'Returns the status of an email to one person, and the bounce or complaint that was reported of it.',
  role: 'VIEWER',
  operations: ['emails.get'],
  annotations: reads,
  input: z.strictObject({ emailId: Id('mai').describe('The email.') }),
  output: EmailRecord,
  run: (ctx, { emailId }) => readEmail(ctx, emailId),
})

/** No tool sends an email: an agent could send what it has read to an address of a visitor. */
export const emailTools = [templates, email]
