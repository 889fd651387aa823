using System.Management.Automation;
using System.Management.Automation.Host;
using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;
using ProtoRpc.Views;

namespace ProtoRpc.PowerShell.Views;

/// <summary>The views' state in a runspace between two objects: the current table, and the size of the
/// window.</summary>
internal sealed class ViewState
{
    // Reading the window's size takes longer than writing a row, and it rarely changes.
    private const int FreshMilliseconds = 200;
    private const int DefaultWidth = 120;
    private const int MaxWidth = 4096;

    private static readonly ConditionalWeakTable<Runspace, ViewState> States = [];

    private long _asked = -FreshMilliseconds;
    private int _width = DefaultWidth;

    /// <summary>The shell of the runspace, with the window; null before the module is
    /// imported.</summary>
    public EngineIntrinsics? Shell { get; set; }

    /// <summary>The table that is being shown; null for none.</summary>
    public MessageTable? Table { get; set; }

    /// <summary>The message type of the table.</summary>
    public RpcMessageInfo? TypeOfTable { get; set; }

    /// <summary>Whether no row has been shown yet.</summary>
    public bool IsFirstRow { get; set; }

    /// <summary>The width of a line in cells.</summary>
    public int Width
    {
        get
        {
            if (Environment.TickCount64 - _asked > FreshMilliseconds)
            {
                _width = WidthOf(Shell?.Host);
                _asked = Environment.TickCount64;
            }

            return _width;
        }
    }

    /// <summary>The state of the current thread's runspace.</summary>
    public static ViewState Current => Runspace.DefaultRunspace is { } runspace
        ? States.GetValue(runspace, _ => new ViewState())
        : new ViewState();

    /// <summary>The colours of the shell's <c>$PSStyle</c>.</summary>
    public static ViewStyle Style
    {
        get
        {
            PSStyle style = PSStyle.Instance;
            return new(
                style.Formatting.TableHeader, style.Formatting.FormatAccent, style.Dim,
                style.Foreground.BrightBlue, style.Foreground.Green, style.Reset);
        }
    }

    // The shell leaves the last column of a window free. A host without a window reports no size.
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
}
