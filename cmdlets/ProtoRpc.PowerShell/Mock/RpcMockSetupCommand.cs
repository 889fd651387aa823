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

    /// <summary>Reads the given replies. The mock does not change yet.</summary>
    /// <exception cref="RpcException">A method does not exist, a reply does not fit its type, or the file of
    /// -Replay cannot be played back.</exception>
    private protected MockSetup ReadSetup(
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

        Action reply = mock.ReadReplies(replies, ShellMapper.Create(asHashtable: false));
        Action? replay = Replay is null ? null : mock.ReadReplay([ResolveLiteral(Replay)]);
        return new MockSetup(
            [.. replies.Select(one => one.Method)],
            () =>
            {
                reply();
                replay?.Invoke();
                mock.Latency = Latency ?? mock.Latency;
            });
    }
}
