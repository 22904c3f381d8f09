/** ID of the user who opened the page. The API rejects the request if the session belongs to another user. */
export const USER_HEADER = 'X-Tocsin-User';

/** Slug of the account of a dashboard request. Optional for a user with one account. */
export const ACCOUNT_HEADER = 'Tocsin-Account';
