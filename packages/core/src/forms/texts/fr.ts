import type { FormTexts } from './en.ts'

export const fr: FormTexts = {
  thanks: 'Merci.',
  emptyBox: 'Veuillez cocher cette case.',
  empty: 'Veuillez remplir ce champ.',
  line: (maxLength) => `Veuillez saisir une seule ligne de ${maxLength} caractères au plus.`,
  text: (maxLength) => `Veuillez saisir ${maxLength} caractères au plus.`,
  email: 'Veuillez saisir une adresse e-mail, par exemple ada@example.com.',
  phone: 'Veuillez saisir un numéro de téléphone, par exemple +44 20 7946 0958.',
  number: 'Veuillez saisir un nombre de 15 chiffres au plus.',
  date: 'Veuillez saisir une date sous cette forme\u202f: 2026-11-21.',
  option: 'Veuillez choisir l’une des options.',
  box: 'Veuillez cocher ou décocher cette case.',
  tooLarge:
    'Veuillez raccourcir vos réponses\u202f: au total, elles ne peuvent pas dépasser environ 32\u202f000 caractères.',
}
