export { DELETE, GET, PATCH, POST, PUT } from '../../auth/[...path]/route'
