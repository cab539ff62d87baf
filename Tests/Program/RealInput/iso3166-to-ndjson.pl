#!/usr/bin/env perl
# Turns Debian's iso-codes (package iso-codes) into two files of records for `cktop records import`:
#
#   countries.ndjson      one country a line, named by `alpha_2` (AZ)
#   subdivisions.ndjson   one subdivision a line, named by `code` (AZ-BAB), with its `country` (AZ) and, where it
#                         lies in another subdivision, its `parent` (AZ-NX)
#
#   cktop records import countries.ndjson --type Country --id alpha_2
#   cktop records import subdivisions.ndjson --type Subdivision --id code \
#     --reference country=Country --reference parent=Subdivision
#
# Keys are sorted and lines keep the order of the source, so that two runs give the same bytes.
use strict;
use warnings;
use JSON::PP;

my ($source, $target) =
    @ARGV == 1 ? ('/usr/share/iso-codes/json', $ARGV[0])
  : @ARGV == 2 ? @ARGV
  :              ();
if (!defined $target || $target =~ /^-/) {
  print STDERR "usage: $0 [ISO-CODES-JSON-DIRECTORY] OUTPUT-DIRECTORY\n";
  exit 2;
}
-d $target or mkdir $target or die "$0: $target cannot be made: $!\n";

my $json = JSON::PP->new->utf8->canonical;

sub entries {
  my ($standard) = @_;
  my $file = "$source/iso_$standard.json";
  open my $handle, '<:raw', $file or die "$0: cannot read $file: $!; install iso-codes\n";
  local $/;
  my $document = $json->decode(scalar <$handle>);
  my $entries  = $document->{$standard};
  ref $entries eq 'ARRAY' or die "$0: $file has no list '$standard'\n";
  return @$entries;
}

sub write_records {
  my ($name, @records) = @_;
  my $file = "$target/$name.ndjson";
  open my $handle, '>:raw', $file or die "$0: cannot write $file: $!\n";
  for my $record (@records) {
    my %present = map { $_ => $record->{$_} } grep { defined $record->{$_} } keys %$record;
    print {$handle} $json->encode(\%present), "\n" or die "$0: cannot write $file: $!\n";
  }
  close $handle or die "$0: cannot write $file: $!\n";
}

my @countries    = entries('3166-1');
my @subdivisions = entries('3166-2');
for my $subdivision (@subdivisions) {
  my ($country) = $subdivision->{code} =~ /^([A-Z]{2})-/ or die "$0: no country in the code '$subdivision->{code}'\n";
  $subdivision->{country} = $country;
  # Most parents lack the country: NX is AZ-NX, while GB-SCT comes complete.
  my $parent = $subdivision->{parent};
  $subdivision->{parent} = "$country-$parent" if defined $parent && $parent !~ /^\Q$country\E-/;
}

my %countries    = map { $_->{alpha_2} => 1 } @countries;
my %subdivisions = map { $_->{code} => 1 } @subdivisions;
my @orphans = grep { defined $_->{parent} && !$subdivisions{ $_->{parent} } } @subdivisions;
my @strays  = grep { !$countries{ $_->{country} } } @subdivisions;

write_records('countries',    @countries);
write_records('subdivisions', @subdivisions);

printf STDERR "%d countries, %d subdivisions\n", scalar @countries, scalar @subdivisions;
print STDERR "$_->{code}: its parent $_->{parent} is no subdivision\n" for @orphans;
print STDERR "$_->{code}: its country $_->{country} is no country\n" for @strays;
exit(@orphans || @strays ? 1 : 0);
