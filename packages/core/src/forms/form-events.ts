import { defineEvent } from '../events/event-definition.ts'
import { Submission } from './forms.schema.ts'

export const formSubmitted = defineEvent('form.submitted', Submission)
