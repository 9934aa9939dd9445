import { defineEvent } from '../events/event-definition.ts'
import { Submission } from './submissions.schema.ts'

export const formSubmitted = defineEvent('form.submitted', Submission)
