import type { Form, Rapport } from '@rapport/sdk'

const name = 'Plant letter'

/** Creates the list and the form, unless this workspace has them. */
export async function findOrCreateForm(rapport: Rapport): Promise<Form> {
  for await (const form of rapport.forms.list()) if (form.name === name) return form
  const list = await rapport.lists.create({ name })
  return rapport.forms.create({
    name,
    listId: list.id,
    tags: ['plant-letter'],
    successMessage: 'Almost done: please press the button in the email that we sent you.',
    fields: [
      { label: 'First name', type: 'TEXT', mapsTo: 'firstName' },
      { label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
      {
        label: 'Email me the plant letter once a month. I can unsubscribe at any time.',
        type: 'CONSENT',
        required: true,
      },
    ],
  })
}
