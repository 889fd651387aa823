using System.Management.Automation;
using System.Management.Automation.Host;
using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;
using ProtoRpc.Views;

namespace ProtoRpc.PowerShell.Views;

/// <summary>What a runspace's views keep between two objects: the table that is shown, and where.</summary>
internal sealed class ViewState
{
    // A window does not change between two rows, and asking for its size takes longer than a row.
    private const int FreshMilliseconds = 200;
    private const int DefaultWidth = 120;
    private const int MaxWidth = 4096;

    private static readonly ConditionalWeakTable<Runspace, ViewState> States = [];

    private long _asked = long.MinValue;
    private PSHost? _host;
    private object? _styleSource;
    private long _styled = long.MinValue;
    private ViewStyle _style = ViewStyle.Plain;

    /// <summary>The table whose rows are shown, if there is one.</summary>
    public MessageTable? Table { get; set; }

    /// <summary>The type of its messages.</summary>
    public RpcMessageInfo? TypeOfTable { get; set; }

    /// <summary>Whether no row was shown yet.</summary>
    public bool IsFirstRow { get; set; }

    /// <summary>How many cells a line has.</summary>
    public int Width { get; private set; } = DefaultWidth;

    /// <summary>The state of the runspace that runs the calling thread's code.</summary>
    public static ViewState Current => Runspace.DefaultRunspace is { } runspace
        ? States.GetValue(runspace, _ => new ViewState())
        : new ViewState();

    /// <summary>The state, with the width of a host's window.</summary>
    public static ViewState Of(PSHost? host)
    {
        ViewState state = Current;
        long now = Environment.TickCount64;
        if (!ReferenceEquals(state._host, host) || now - state._asked > FreshMilliseconds)
        {
            state._host = host;
            state._asked = now;
            state.Width = WidthOf(host);
        }

        return state;
    }

    /// <summary>The colours of the shell's <c>$PSStyle</c>.</summary>
    public ViewStyle StyleOf(object? source)
    {
        long now = Environment.TickCount64;
        if (!ReferenceEquals(_styleSource, source) || now - _styled > FreshMilliseconds)
        {
            _styleSource = source;
            _styled = now;
            object? formatting = ValueOf(source, "Formatting");
            object? foreground = ValueOf(source, "Foreground");
            _style = new(
                TextOf(formatting, "TableHeader"), TextOf(formatting, "FormatAccent"), TextOf(source, "Dim"),
                TextOf(foreground, "BrightBlue"), TextOf(foreground, "Green"), TextOf(source, "Reset"));
        }

        return _style;
    }

    // The shell leaves the last column of a window free. A host without a window has no size.
    private static int WidthOf(PSHost? host)
    {
        try
        {
            int width = host?.UI?.RawUI?.BufferSize.Width ?? 0;
            return width > 1 ? Math.Min(width, MaxWidth) - 1 : DefaultWidth;
        }
        catch (Exception e) when (e is HostException or NotImplementedException or NotSupportedException
            or InvalidOperationException or IOException)
        {
            return DefaultWidth;
        }
    }

    private static object? ValueOf(object? source, string name) =>
        source is null ? null : PSObject.AsPSObject(source).Properties[name]?.Value;

    private static string TextOf(object? source, string name) => ValueOf(source, name) as string ?? "";
}
