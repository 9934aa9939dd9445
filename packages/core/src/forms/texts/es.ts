import type { FormTexts } from './en.ts'

export const es: FormTexts = {
  thanks: 'Gracias.',
  emptyBox: 'Marque esta casilla.',
  empty: 'Complete este campo.',
  line: (maxLength) => `Escriba una sola línea de ${maxLength} caracteres como máximo.`,
  text: (maxLength) => `Escriba ${maxLength} caracteres como máximo.`,
  email: 'Escriba una dirección de correo electrónico, por ejemplo ada@example.com.',
  phone: 'Escriba un número de teléfono, por ejemplo +44 20 7946 0958.',
  number: 'Escriba un número de 15 cifras como máximo.',
  date: 'Escriba una fecha con este formato: 2026-11-21.',
  option: 'Seleccione una de las opciones.',
  box: 'Marque o desmarque esta casilla.',
  tooLarge: 'Acorte sus respuestas. En total, pueden tener como máximo unos 32\u202f000 caracteres.',
}
