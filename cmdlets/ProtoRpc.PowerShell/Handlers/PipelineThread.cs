using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Sets the thread that runs scripts in a pipeline.</summary>
/// <remarks>If another thread invokes a script block, the shell passes the block to the pipeline's thread as
/// an event, which takes milliseconds. The shell asks the pipeline which thread that is.</remarks>
internal sealed class PipelineThread
{
    private const string Running =
        "System.Management.Automation.Runspaces.Pipeline, System.Management.Automation";

    private const string Base =
        "System.Management.Automation.Runspaces.PipelineBase, System.Management.Automation";

    private readonly object _pipeline;

    private PipelineThread(object pipeline) => _pipeline = pipeline;

    /// <summary>The running pipeline of a runspace. Null if none is running, or if this version of the shell
    /// lacks the internal members.</summary>
    public static PipelineThread? Of(Runspace runspace)
    {
        try
        {
            if (GetPipeline(runspace) is not { } running)
            {
                return null;
            }

            PipelineThread pipeline = new(running);
            pipeline.Set(Thread.CurrentThread);
            return pipeline;
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException or BadImageFormatException)
        {
            return null;
        }
    }

    /// <summary>Makes a thread the pipeline's thread.</summary>
    public void Set(Thread thread) => SetThread(_pipeline, thread);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "GetCurrentlyRunningPipeline")]
    [return: UnsafeAccessorType(Running)]
    private static extern object? GetPipeline(Runspace runspace);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_NestedPipelineExecutionThread")]
    private static extern void SetThread([UnsafeAccessorType(Base)] object pipeline, Thread thread);
}
