package vm

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestJudgeAddress(t *testing.T) {
	const mac, other = "52:54:00:aa:bb:cc", "52:54:00:00:00:01"
	want := reservation{"lan", DHCPHost{MAC: mac, IP: "10.0.0.9", Name: "web"}}
	for name, tc := range map[string]struct {
		ip     string
		hosts  []DHCPHost
		held   []reservation
		others bool
		reason v1.Reason
	}{
		"free":                     {ip: "10.0.0.9"},
		"somebody else's, as is":   {ip: "10.0.0.9", hosts: []DHCPHost{{MAC: "52:54:00:AA:BB:CC", IP: "10.0.0.9"}}, others: true},
		"ours already":             {ip: "10.0.0.9", hosts: []DHCPHost{want.DHCPHost}, held: []reservation{want}},
		"taken by another":         {ip: "10.0.0.9", hosts: []DHCPHost{{MAC: other, IP: "10.0.0.9"}}, reason: v1.ReasonPortConflict},
		"the card has another":     {ip: "10.0.0.9", hosts: []DHCPHost{{MAC: mac, IP: "10.0.0.8"}}, reason: v1.ReasonPortConflict},
		"our card's earlier one":   {ip: "10.0.0.9", hosts: []DHCPHost{{MAC: mac, IP: "10.0.0.8"}}, held: []reservation{{"lan", DHCPHost{MAC: mac, IP: "10.0.0.8"}}}},
		"ours, in another network": {ip: "10.0.0.9", hosts: []DHCPHost{{MAC: mac, IP: "10.0.0.8"}}, held: []reservation{{"wan", DHCPHost{MAC: mac, IP: "10.0.0.8"}}}, reason: v1.ReasonPortConflict},
		"not of the network":       {ip: "10.0.1.9", reason: v1.ReasonInvalid},
		"no address":               {ip: "ten", reason: v1.ReasonInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			network := Network{Name: "lan", Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, Hosts: tc.hosts}
			w := want
			w.IP = tc.ip
			others, err := judgeAddress(network, w, tc.held)
			require.Equal(t, tc.reason, contract.ReasonOf(err))
			require.Equal(t, tc.others, others)
		})
	}
}
