using System.Collections;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Offers the methods of a mock, or of all mocks of this runspace.</summary>
public sealed class MockMethodCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        IEnumerable<RpcMockListener> mocks = Unwrap(bound["Mock"]) is RpcMockListener mock
            ? [mock]
            : RunspaceStore.Current.Listeners.OfType<RpcMockListener>();
        List<RpcMethodInfo> methods =
            [.. mocks.SelectMany(one => one.Mock.Methods).DistinctBy(method => method.FullName)];
        HashSet<string> unique = [.. methods.CountBy(method => method.Name)
            .Where(count => count.Value == 1)
            .Select(count => count.Key)];
        return methods.Select(method => new Candidate(
            unique.Contains(method.Name) ? method.Name : method.FullName, MethodCompleter.ToolTip(method)));
    }
}
