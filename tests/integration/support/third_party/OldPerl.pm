# Gives today's Perl what the original's scripts expect from an older Perl: integer division that rounds towards
# zero, and cells of a reply that can be changed.
package OldPerl;
use strict;
use warnings;
use Math::BigInt;
use overload ();
use Net::HandlerSocket;
{
  package Math::BigInt;
  no warnings 'redefine';
  my $divide = sub {
    my ($left, $right, $swapped) = @_;
    $right = Math::BigInt->new($right) unless ref $right;
    return $swapped ? $right->copy->btdiv($left) : $left->copy->btdiv($right);
  };
  overload->import('/' => $divide, '/=' => $divide);
}
{
  # The library answers NULL as Perl's one undef, which is read-only.
  no warnings 'redefine';
  my $execute = \&Net::HandlerSocket::execute_multi;
  *Net::HandlerSocket::execute_multi = sub {
    my $replies = $execute->(@_);
    @$_ = map { my $cell = $_; $cell } @$_ for @$replies;
    return $replies;
  };
}
1;
