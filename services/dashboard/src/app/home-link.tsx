import { Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Logo } from './logo.tsx';
import classes from './shell.module.css';

export function HomeLink(): ReactNode {
  return (
    <Link to="/" className={classes['home']} aria-label="Tocsin: all monitors">
      <Logo />
      <Text component="span" fw={700} size="lg">
        Tocsin
      </Text>
    </Link>
  );
}
