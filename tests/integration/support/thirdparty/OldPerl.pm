# Gives the Perl of today what the scripts of the original expect of an older Perl: integer division that
# cuts off towards zero, and cells of a reply that can be assigned to.
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
