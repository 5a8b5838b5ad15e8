# Loaded in front of memcached's own tests, so that they run against servers that exist already.
#   MEMCACHED=HOST:PORT           the server for all tests
#   MEMCACHED_NO_FLUSH=HOST:PORT  the server for the part of a test that asks for -F: no flush_all
#   MEMCACHED_SQL=SOCKET          the socket on which SQL moves the clock of MEMCACHED
# Without MEMCACHED_SQL a test waits for time to pass (memcached looks at its clock once a second).
package OutsideServer;
use strict;
use warnings;
no warnings 'redefine';
use Socket ();
use Time::HiRes ();
use MemcachedTest ();

sub server {
    my ($address) = @_;
    my ($host, $port) = $address =~ /^(.*):(\d+)$/ or die "not an address: $address";
    my $conn = IO::Socket::INET->new(PeerAddr => $address) or die "cannot connect to $address: $!";
    return bless { conn => $conn, host => $host, port => $port }, 'Memcached::Handle';
}

sub in_place_of {
    my ($name, $code) = @_;
    no strict 'refs';
    *{"MemcachedTest::$name"} = $code;
}

in_place_of(new_memcached => sub {
    my ($options) = @_;
    die "no server for these options" if $options && $options =~ /-B (auto|ascii|binary -B)/;
    return server($options && $options =~ /-F/ ? $ENV{MEMCACHED_NO_FLUSH} : $ENV{MEMCACHED});
});
# Replaces a connection that the server has closed. It may have closed it without a reset, by which memcached's
# own tests recognize a closed connection.
{
    no strict 'refs';
    my $sock = \&Memcached::Handle::sock;
    *{"Memcached::Handle::sock"} = sub {
        my ($self) = @_;
        my $conn = $self->{conn} or return $sock->($self);
        my $got = $conn->recv(my $next, 1, Socket::MSG_PEEK() | Socket::MSG_DONTWAIT());
        return defined $got && $next eq '' ? $self->new_sock : $sock->($self);
    };
}
my ($sql, $offset) = (undef, 0);

sub move_clock {
    my ($seconds) = @_;
    require DBI;
    $sql ||= DBI->connect("DBI:mysql:mysql_socket=$ENV{MEMCACHED_SQL}", 'root', '', { RaiseError => 1 });
    $offset = $seconds ? $offset + $seconds : 0;
    $sql->do("SET GLOBAL daemon_memcached_clock_offset = $offset");
}
in_place_of(sleep => sub {
    my ($seconds) = @_;
    return Time::HiRes::sleep($seconds) if $seconds < 1 || !$ENV{MEMCACHED_SQL};
    move_clock($seconds);
    Time::HiRes::sleep(2);  # the server does what is due every half second
});
in_place_of(mem_move_time => sub { MemcachedTest::sleep($_[1] + ($ENV{MEMCACHED_SQL} ? 0 : 1.1)) });
END { my $code = $?; move_clock(0) if $sql; $? = $code }
# The server has none of the optional features for which the tests ask.
in_place_of($_ => sub { 0 })
    for qw(supports_unix_socket supports_extstore supports_proxy supports_tls supports_drop_priv);
in_place_of(supports_sasl => sub { $ENV{RUN_SASL_TESTS} });
*Memcached::Handle::DESTROY = sub { };

1;
