using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Mock;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc;

/// <summary>The base of cmdlets that set the replies of a mock.</summary>
public abstract class RpcMockSetupCommand : RpcHandlersCommand
{
    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HandlerCompleter))]
    public IDictionary? Reply { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? Replay { get; set; }

    [Parameter]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? Latency { get; set; }

    /// <summary>Sets the given replies. If any of them is invalid, nothing changes.</summary>
    /// <returns>The full names of the methods.</returns>
    /// <exception cref="RpcException">A method does not exist, or a reply does not fit its type.</exception>
    private protected IReadOnlyList<string> SetUp(
        RpcMock mock, HandlerEnvironment environment, HandlerPool pool)
    {
        if (Latency == Timeout.InfiniteTimeSpan || Latency?.TotalMilliseconds > int.MaxValue)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"-Latency {Latency} is out of range; the longest latency is "
                + $"{TimeSpan.FromMilliseconds(int.MaxValue).TotalDays:0} days.")
            {
                ErrorId = RpcErrorIds.InvalidHandler,
            };
        }

        MockReplyValue values = new(new HandlerValue(environment, pool));
        List<(string Method, IReadOnlyList<object> Replies)> replies = [];
        foreach (DictionaryEntry entry in Reply ?? new Hashtable())
        {
            RpcMethodInfo method = mock.FindMethod(LanguagePrimitives.ConvertTo<string>(entry.Key));
            if (replies.Exists(other => other.Method == method.FullName))
            {
                throw HandlerValue.Invalid($"-Reply has {method.FullName} twice.");
            }

            replies.Add((method.FullName, values.ToReplies(method, entry.Value)));
        }

        if (Replay is not null)
        {
            mock.Replay(ResolveLiteral(Replay));
        }

        mock.Reply(replies, ShellMapper.Create(asHashtable: false));
        mock.Latency = Latency ?? mock.Latency;
        return [.. replies.Select(reply => reply.Method)];
    }
}
